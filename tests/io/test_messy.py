"""Tables as people have them: words for decisions, codes, amounts, named holes, other models' scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from selective_labels._errors import TableError
from selective_labels.io.prepare import FeatureRules, model_outputs, prepare_table
from selective_labels.io.read import read_table
from selective_labels.io.table_roles import Roles, find_roles, read_decision

ROLES = Roles(label="failed", decision_maker="officer", decision="approved")
N = 400


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    approved = rng.choice(["Yes", "No"], N)
    return pd.DataFrame(
        {
            "amount": [f"${number:,}" for number in rng.integers(500, 20_000, N)],
            "zip": [f"{number:05d}" for number in rng.integers(1, 40, N) * 1_234],
            "branch": rng.choice(["north", "south"], N),
            "officer": rng.choice(["a", "b", "c"], N),
            "approved": approved,
            "failed": np.where(approved == "Yes", rng.choice(["no", "yes"], N), None),
            "risk_score": rng.random(N),
        }
    )


def refused(frame, roles=ROLES, **rules):
    with pytest.raises(TableError) as caught:
        prepare_table(frame, roles, FeatureRules(**rules))
    return str(caught.value)


@pytest.mark.parametrize(
    ("accept", "refuse"),
    [
        ("yes", "no"),
        ("Approved", "Declined"),
        ("TRUE", "false"),
        ("granted", "DENIED"),
        ("Y", "N"),
        ("1", "0"),
    ],
)
def test_words_for_decisions_are_read(accept, refuse):
    column = pd.Series([accept, refuse, accept], name="d")
    decision, said = read_decision(column, pd.Series([1, None, 0]))
    assert decision.tolist() == [1, 0, 1]
    assert said == (
        ""
        if accept == "1"
        else f"Decision 'd': '{accept}' (2 rows) is accepted, so that the label is seen; "
        f"'{refuse}' (1 row) is refused."
    )


def test_other_words_are_shown_with_the_remedy():
    column, label = pd.Series(["A", "R", "R"], name="status"), pd.Series([1, None, None])
    with pytest.raises(TableError, match=r"holds 'R' \(2 rows\) and 'A' \(1 row\).*give --accepted 'A'"):
        read_decision(column, label)
    assert read_decision(column, label, ["a"])[0].tolist() == [1, 0, 0]
    with pytest.raises(TableError, match="--accepted 'b' does not occur"):
        read_decision(column, label, ["B"])


def test_a_column_of_refusals_is_not_read_the_wrong_way_round():
    column, label = pd.Series(["yes", "no", "no"], name="declined"), pd.Series([None, 1, 0])
    with pytest.raises(TableError, match=r"labels are seen only where it is 'no'.*give --accepted 'no'"):
        read_decision(column, label)
    assert read_decision(column, label, ["no"])[0].tolist() == [0, 1, 1]


def test_empty_decisions_are_counted():
    with pytest.raises(TableError, match="is empty in 1 of 2 rows"):
        read_decision(pd.Series(["yes", None], name="d"))


def test_a_messy_table_is_read_and_said_so(frame):
    table = prepare_table(frame, ROLES)
    assert table.kinds == {"amount": "number", "zip": "category", "branch": "category"}
    assert table.X["amount"].iloc[0] == float(frame["amount"].iloc[0].replace("$", "").replace(",", ""))
    assert table.data.decision.sum() == (frame["approved"] == "Yes").sum()
    assert [each.split()[0] for each in table.readings] == ["Decision", "'amount'", "'zip'"]
    assert [(each.name, each.reason.split(";")[0]) for each in table.left_out] == [
        ("risk_score", "is named like a model's output")
    ]


def test_text_of_very_many_values_is_said_to_be_one_category(frame):
    rng = np.random.default_rng(1)
    pressure = [f"{high}/{low}" for high, low in rng.integers([90, 70], [110, 85], (N, 2))]
    patient = [f"{number:06d}" for number in rng.integers(0, 150, N)]
    frame = frame.assign(pressure=pressure, patient=patient, ward=pd.Series(patient).str[-2:])
    counts = frame.nunique()
    assert counts["pressure"] > 100 > counts["ward"]
    said = " ".join(prepare_table(frame, ROLES).readings)
    for name in ("pressure", "patient"):
        assert f"'{name}' is a category of {counts[name]} different values" in said
        assert f"--exclude '{name}'" in said
        assert f"--groups '{name}'" in said
    assert "'patient' holds codes with leading zeros" in said, "the other sentence stays"
    assert "'ward' is a category" not in said
    chosen = FeatureRules(category=["pressure,patient"])
    assert "different values" not in " ".join(prepare_table(frame, ROLES, chosen).readings)
    assert "is a category" not in " ".join(
        prepare_table(frame, replace(ROLES, strata="patient"), FeatureRules(exclude=["pressure"])).readings
    )


def test_what_is_left_out_can_be_asked_for(frame):
    assert "risk_score" in prepare_table(frame, ROLES, FeatureRules(include=["risk_score"])).kinds
    assert "risk_score" in prepare_table(frame, ROLES, FeatureRules(features=["risk_score"])).kinds
    kinds = prepare_table(frame, ROLES, FeatureRules(number=["zip"])).kinds
    assert kinds["zip"] == "number"
    assert "both as --category and as --number" in refused(frame, category=["zip"], number=["z*"])


def test_codes_keep_their_zeros_in_a_file(frame, tmp_path):
    rest = frame.assign(count=np.arange(N) % 7)
    rest.loc[3, "zip"] = None
    rest.to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv")
    assert read["zip"].dropna().tolist() == rest["zip"].dropna().tolist()
    assert read["count"].dtype.kind == "i"


def test_strata_stay_features_as_categories(frame):
    roles = Roles(label="failed", decision_maker="officer", decision="approved", strata="branch")
    table = prepare_table(frame.assign(branch=frame["branch"].map({"north": 1, "south": 2})), roles)
    assert table.kinds["branch"] == "category"
    assert table.data.strata is not None
    assert "branch" not in prepare_table(frame, roles, FeatureRules(exclude=["branch"])).kinds


@pytest.mark.parametrize("word", ["unknown", "?", "n/k", "Pending"])
def test_a_label_that_reads_like_a_hole_is_asked_about(frame, word):
    frame.loc[frame["failed"].notna().to_numpy().nonzero()[0][:5], "failed"] = word
    message = refused(frame)
    assert f"holds '{word}' in 5 rows" in message
    assert f"--missing '{word}'" in message
    assert f"--class '{word}'" in message
    assert word in prepare_table(frame, ROLES, FeatureRules(classes=[word])).data.classes


def test_such_words_behind_a_refusal_do_not_matter(frame):
    frame.loc[frame["failed"].isna(), "failed"] = "unknown"
    assert prepare_table(frame, ROLES).data.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("score", True),
        ("NewScore", True),
        ("score_v2", True),
        ("prob_default", True),
        ("model_prediction", True),
        ("y_hat", True),
        ("credit_score", False),
        ("FICO score", False),
        ("scored_at_branch", False),
        ("problems", False),
        ("age", False),
    ],
)
def test_outputs_are_told_by_their_names(name, left_out):
    X = pd.DataFrame({name: np.linspace(300, 800, 50)})
    found = model_outputs(X, {name: "number"}, pd.Series([0, 1] * 25), None)
    assert bool(found) == left_out


def test_shares_that_rank_the_labels_are_told_by_their_values():
    rng = np.random.default_rng(1)
    label = pd.Series(rng.integers(0, 2, 500))
    noisy = 1 / (1 + np.exp(-(3 * label - 1.5 + rng.normal(size=500))))
    X = pd.DataFrame({"magic": noisy, "plain": rng.random(500), "wide": 10 * noisy})
    found = model_outputs(X, dict.fromkeys(X, "number"), label, None)
    assert [each.name for each in found] == ["magic"]
    assert "labels that are seen as a model's output would (AUC 0.9" in found[0].reason


@pytest.mark.parametrize(
    "name",
    [
        *[
            "underwriter",
            "reviewer",
            "adjudicator",
            "clinician",
            "nurse",
            "teller",
            "caseworker",
            "examiner",
            "inspector",
        ],
        *("agent", "analyst", "Loan Officer", "underwriter_id", "triage nurse", "claims-adjuster"),
    ],
)
def test_more_names_of_decision_makers_are_guessed(frame, name):
    roles, guessed = find_roles(frame.rename(columns={"officer": name}), {})
    assert roles.decision_maker == name
    assert (roles.label, roles.decision) == ("failed", "approved")
    assert set(guessed) == {"label", "decision", "decision_maker"}
