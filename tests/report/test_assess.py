"""The whole document: what the schema says, never a crash, the same numbers as the library's own calls."""

from functools import cache

import jsonschema
import numpy as np
import pandas as pd
import pytest

import selective_labels as sl
from selective_labels._parallel import listening
from selective_labels.assumptions import Informed, Prevalence
from selective_labels.report import cases as cases_module
from tests.diagnostics import designs
from tests.report.samples import QUICK, SCHEMA, SECTIONS, Store, table, validate

BELIEVED = [Informed("yes"), Prevalence("yes", (0.3, 0.7))]


def is_missing(section):
    return isinstance(section, dict) and "missing" in section


@pytest.fixture(scope="module")
def two_classes():
    X, y, makers = table()
    return sl.assess(X, y, decision_maker=makers, by=X[["town", "a"]], assumptions=BELIEVED, **QUICK)


@pytest.fixture(scope="module")
def three_classes():
    X, y, makers = table(n_classes=3)
    return sl.assess(X, y, decision_maker=makers, **QUICK)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_document_is_what_the_schema_says(two_classes, three_classes):
    validate(two_classes)
    validate(three_classes)


def test_no_section_is_missing_where_the_data_allow_all(two_classes):
    assert [name for name in SECTIONS if is_missing(two_classes[name])] == []


def test_names_come_from_the_table(two_classes):
    data = two_classes["data"]
    assert data["roles"]["label"] == "outcome"
    assert data["roles"]["decision_maker"] == "maker"
    assert data["roles"]["strata"] is None
    kinds = {each["name"]: each["kind"] for each in data["features"]}
    assert kinds == {"a": "number", "b": "number", "c": "number", "town": "category"}
    shares = {each["name"]: each["missing_share"] for each in data["features"]}
    assert shares["b"] == pytest.approx(89 / 800)


def test_every_metric_stands_under_every_assumption(two_classes):
    for model in two_classes["models"]:
        pairs = [(each["metric"], each["assumption"]) for each in model["evaluations"]]
        assert len(pairs) == len(set(pairs)) == 5 * 4


def test_three_classes_have_shares_and_rates_of_each(three_classes):
    names = {each["metric"] for each in three_classes["models"][0]["evaluations"]}
    assert {"accuracy", "share of 'low'", "P(predicted 'normal' | true 'normal')"} <= names
    assert three_classes["data"]["words"]["event"] == "normal"


def test_subgroups_are_compared_with_the_largest(two_classes):
    sections = two_classes["subgroups"]
    assert {(each["column"], each["model"]) for each in sections} == {
        (column, model) for column in ("town", "a") for model in ("yours", "ours")
    }
    town = next(each for each in sections if each["column"] == "town")
    sizes = {each["subgroup"]: each["n"] for each in town["evaluations"]}
    largest = max(sizes, key=sizes.get)
    assert {each["reference"] for each in town["gaps"]} == {largest}
    assert {each["subgroup"] for each in town["gaps"]} == set(sizes) - {largest}


def test_subgroups_count_the_cases_of_the_table(two_classes):
    X, y, _ = table()
    town = next(each for each in two_classes["subgroups"] if each["column"] == "town")
    for each in town["evaluations"]:
        rows = X["town"] == each["subgroup"]
        assert each["n"] == rows.sum()
        assert each["n_labeled"] == y[rows].notna().sum()


def test_given_predictions_are_judged_as_evaluate_judges_them():
    X, y, makers = table()
    labels = np.where(X["a"] < 0, "yes", "no")
    document = sl.assess(X, y, decision_maker=makers, predictions=labels, metric=["accuracy"], **QUICK)
    found = document["models"][0]
    expected = sl.evaluate(labels, X, y, decision_maker=makers, assumption="all", **QUICK)
    assert [each["lower"] for each in found["evaluations"]] == [each.lower for each in expected]
    seen = y.notna()
    assert found["labeled"]["accuracy"] == pytest.approx(np.mean(labels[seen] == y[seen]))
    assert [each["key"] for each in document["acceptance"]["models"]] == ["ours"], "labels have no order"


def test_the_first_figures_are_those_of_the_library(two_classes):
    """The event among the labeled cases is a plain share, and among everybody what `evaluate` says."""
    _, y, _ = table()
    event = two_classes["answers"]["event"]
    assert event["labeled"] == pytest.approx(np.mean(y[y.notna()] == "yes"))
    for rule, model in zip(two_classes["answers"]["rules"], two_classes["models"], strict=True):
        same = next(
            each
            for each in model["evaluations"]
            if (each["metric"], each["assumption"]) == ("accuracy", rule["result"]["assumption"])
        )
        assert rule["result"] == same
        assert rule["labeled"] == model["labeled"]["accuracy"]


def test_the_explorer_holds_the_people_at_their_own_rate(two_classes):
    """What people accepted, and how much of it failed, is seen: plain shares."""
    _, y, _ = table()
    part = two_classes["acceptance"]
    assert part["present"] == pytest.approx(y.notna().mean())
    assert part["human"]["failure_rate"]["lower"] == pytest.approx(np.mean(y[y.notna()] == "yes"))
    for model in part["models"]:
        start = model["points"][model["start"]]
        assert start["rate"] == pytest.approx(part["present"])
        ends = start["failures"]
        assert ends["lower"] / start["rate"] == pytest.approx(start["failure_rate"]["lower"], abs=1e-9)


def test_the_comparators_stand_beside_the_rules(two_classes):
    rows = two_classes["comparators"]["rows"]
    assert [each["key"] for each in rows] == ["other"] * 6 + ["yours", "ours"]
    assert all(each["assumes"] and each["claims"] is not None for each in rows[:6])
    assert rows[-1]["against_ours"] is None
    # The paired difference lies within what the two intervals of their own allow.
    ours = rows[-1]["value"]
    for each in rows[:-1]:
        assert each["against_ours"]["lower"] >= each["value"]["lower"] - ours["upper"] - 1e-9
        assert each["against_ours"]["upper"] <= each["value"]["upper"] - ours["lower"] + 1e-9


def test_a_team_is_judged_against_the_people(two_classes):
    ways = {each["way"]: each for each in two_classes["team"]["ways"]}
    assert ways["human"]["difference"] is None
    accepted = {name: way["values"]["acceptance"]["lower"] for name, way in ways.items()}
    assert accepted["both"] <= accepted["human"] <= accepted["either"]
    assert accepted["score"] == pytest.approx(accepted["human"])
    # What both accept is seen, so its rate is a value and not a range.
    both = ways["both"]["values"]["failure_rate"]
    assert both["lower"] == pytest.approx(both["upper"])


def test_the_outlook_plans_what_the_comparison_left_open(two_classes):
    outlook = two_classes["outlook"]
    same = {each["assumption"]: each for each in two_classes["comparison"]["results"]}
    assert outlook["ci_lower"] == pytest.approx(same[outlook["assumption"]]["ci_lower"])
    widths = {each["way"]: each["interval"] for each in outlook["ways"]}
    assert widths["2 times the cases"] < widths["as it is"]


def one_class():
    X, y, makers = table()
    return {"X": X, "y": y.where(y == "no", None), "decision_maker": makers}


def one_decision_maker():
    X, y, makers = table()
    return {"X": X, "y": y, "decision_maker": ["only"] * len(makers)}


def every_label_seen():
    X, y, makers = table()
    return {"X": X, "y": y.fillna("no"), "decision_maker": makers}


def stratum_of_one():
    X, y, makers = table()
    return {"X": X, "y": y, "decision_maker": makers, "strata": makers == "maker 0"}


def violated():
    return designs.label_depends_on_decision_maker(800, 4, 0).arguments()


def very_few():
    X, y, makers = table(40)
    return {"X": X, "y": y, "decision_maker": makers}


@cache
def document_of(case):
    return sl.assess(**case(), **QUICK)


# Sections about the rules, which need two classes.
RULES = {"answers", "outlook", "comparators", "acceptance", "team"}


@pytest.mark.parametrize(
    ("case", "missing"),
    [
        (one_class, {"models", "comparison", "ladder", "decided", "sensitivity", "subgroups", *RULES}),
        (one_decision_maker, {"leniency", "ladder", "subgroups"}),
        (every_label_seen, {"ladder", "outlook", "sensitivity", "subgroups", "team"}),
        (stratum_of_one, {"ladder", "subgroups"}),
        (violated, {"ladder", "subgroups"}),
        (very_few, {"ladder", "subgroups"}),
    ],
)
def test_what_cannot_be_computed_says_why(case, missing):
    document = document_of(case)
    validate(document)
    assert {name for name in SECTIONS if is_missing(document[name])} == missing
    for name in missing:
        assert len(document[name]["missing"]) > 10, "a reason, not an empty text"


def test_what_the_library_warns_of_becomes_a_note():
    document = document_of(one_decision_maker)
    assert any("one value only" in note for note in document["data"]["notes"])


def test_an_assessment_interrupted_twice_resumes_with_the_same_numbers(two_classes):
    X, y, makers = table()
    arguments = {"X": X, "y": y, "decision_maker": makers, "by": X[["town", "a"]]} | QUICK
    arguments["assumptions"] = BELIEVED
    store = Store()
    for store.stop_after in (1, 4):
        with pytest.raises(KeyboardInterrupt):
            sl.assess(**arguments, sections=store)
        assert len(store.kept) == store.stop_after
    store.stop_after = None
    resumed = sl.assess(**arguments, sections=store)
    assert resumed == two_classes | {"created": resumed["created"]}


@pytest.fixture(scope="module")
def small():
    """A small table, the sections that its assessment kept, what it told on the way, and its document."""
    X, y, makers = table(300)
    arguments = {"y": y.to_list(), "decision_maker": makers.to_list(), **QUICK}
    store, told = Store(), []
    with listening(lambda what, done, total: told.append((what, done, total))):
        document = sl.assess(X, by=X[["town"]], **arguments, sections=store)
    return X, arguments, store, told, document


def test_a_finished_assessment_fits_nothing_again(small, monkeypatch):
    X, arguments, store, _, first = small

    def refuse(*arguments, **options):
        raise AssertionError("fitted again")

    for name in ("robust_classifier", "usual_practice", "Evaluator", "diagnosis_part"):
        monkeypatch.setattr(f"selective_labels.report.assess.{name}", refuse)
    again = sl.assess(X, by=X[["town"]], **arguments, sections=store)
    assert again == first | {"created": again["created"]}


def test_labels_behind_a_decision_against_are_never_read():
    X, y, makers = table(400)
    generator = np.random.default_rng(0)
    documents = []
    for _ in range(2):
        garbage = pd.Series(generator.choice(["no", "yes", "??"], len(y)))
        documents.append(sl.assess(X, y.fillna(garbage), decision=y.notna(), decision_maker=makers, **QUICK))
    assert documents[0] == documents[1]
    assert any("were not read" in note for note in documents[0]["data"]["notes"])


def test_very_many_rows_are_judged_on_a_part(monkeypatch):
    X, y, makers = table(600)
    y[17] = "zzz"  # one case of a class of its own, which must not get lost
    monkeypatch.setattr(cases_module, "MOST_ROWS", 300)
    document = sl.assess(X, y, decision_maker=makers, **QUICK)
    assert document["data"]["n_cases"] == 600
    assert sum(each["n"] for each in document["leniency"]["decision_makers"]) == 600
    assert {each["n"] for each in document["models"][0]["evaluations"]} == {300}
    assert document["data"]["classes"] == ["no", "yes", "zzz"]
    assert any("on a random 300 of" in note for note in document["data"]["notes"])


def test_progress_is_told_by_section(small):
    *_, told, _ = small
    steps = [(done, total) for what, done, total in told if what == "assessing"]
    assert steps == [(done, len(SECTIONS)) for done in range(len(SECTIONS) + 1)]


def test_polars_frames_are_taken(small):
    polars = pytest.importorskip("polars", reason="optional: polars is not installed")
    X, arguments, *_, document = small
    frame = polars.from_pandas(X)
    found = sl.assess(frame, by=frame[["town"]], **arguments)
    assert found == document | {"created": found["created"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predictions": ["maybe"] * 300}, "predictions: 'maybe' is predicted in 300 rows"),
        ({"predictions": ["no"] * 299}, "predictions has 299 rows"),
        ({"predictions": [None] * 300}, "predictions are missing in 300 places"),
        ({"predictions": ["no"] * 300, "model": object()}, "both given"),
        ({"pos_label": "maybe"}, "pos_label='maybe' is not among the labels"),
        ({"metric": ["speed"]}, "metric 'speed' is not one of"),
        ({"by": ["a"] * 299}, "by has 299 rows"),
    ],
)
def test_a_mistake_of_the_user_stops_everything(options, message):
    X, y, makers = table(300)
    with pytest.raises(ValueError, match=message):
        sl.assess(X, y, decision_maker=makers, **options, **QUICK)


def test_costs_reach_the_metrics_the_comparison_and_our_rule(two_classes):
    X, y, makers = table()
    matrix = [[0.0, 1.0], [8.0, 0.0]]
    document = sl.assess(X, y, decision_maker=makers, cost=matrix, **QUICK)
    validate(document)
    for model in document["models"]:
        assert "cost" in {each["metric"] for each in model["evaluations"]}
    assert {each["metric"] for each in document["comparison"]["results"]} == {"cost"}
    assert any("costs less" in each for each in document["summary"]["sentences"])
    # Missing the event costs eight times as much: a rule that is learned for it flags more.
    flagged = [
        next(each for each in found["models"][1]["evaluations"] if each["metric"] == "fpr")["upper"]
        for found in (two_classes, document)
    ]
    assert flagged[1] > flagged[0]


def test_a_cost_of_the_wrong_shape_is_refused_before_anything_is_fitted():
    X, y, makers = table()
    with pytest.raises(ValueError, match=r"cost has shape \(2,\)"):
        sl.assess(X, y, decision_maker=makers, cost=[1, 5], **QUICK)
