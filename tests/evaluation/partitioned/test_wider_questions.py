"""Losses, regret, calibration, assumptions that combine: rows in memory and sums give the same numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from selective_labels import (
    InputError,
    SelectiveLabels,
    compare,
    drift,
    evaluate,
    ladder,
    sensitivity_curve,
    threshold_curve,
)
from selective_labels import assumptions as a
from selective_labels.evaluation.partitioned.scored_partitions import Prepared
from tests.evaluation.partitioned.tables import (
    FEATURES,
    NAMED,
    folds_of,
    from_folder,
    make_table,
    numbers,
    write,
)

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
NUMERIC = FEATURES[:4]
EXTRA = {"sample_weight": "weight", "groups": "person"}


def model_of(frame, columns=NUMERIC):
    seen = frame[frame["released"] == 1]
    return LogisticRegression().fit(seen[columns], seen["failed"])


def both(frame, folder, *roles):
    """The same table in memory and in partitions, with the folds of the latter."""
    given = {role: EXTRA[role] for role in roles}
    memory = SelectiveLabels.from_frame(frame, **NAMED, features=NUMERIC, **given)
    keys = frame["person"] if "groups" in roles else np.arange(len(frame))
    return memory, from_folder(write(frame, folder), features=NUMERIC, **given), folds_of(keys)


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(wanted, found, strict=True):
        assert (one.metric, one.assumption, one.subgroup) == (other.metric, other.assumption, other.subgroup)
        assert one.reason == other.reason
        assert_allclose(numbers(other), numbers(one), **CLOSE)


@pytest.mark.parametrize(
    ("roles", "n_classes"),
    [((), 2), (("sample_weight",), 3), (("groups",), 2)],
    ids=["plain", "weights", "groups"],
)
def test_losses_regret_and_calibration(roles, n_classes, tmp_path):
    frame = make_table(600, n_classes)
    memory, lazy, cv = both(frame, tmp_path, *roles)
    how = {
        "metric": ["accuracy", "log_loss", "brier", "regret", "cost"],
        "assumption": ["none", "instrument", "unconfounded"],
        "cost": 3.0 * (1.0 - np.eye(n_classes)) + np.arange(n_classes),
        **QUICK,
    }
    model = model_of(frame)
    found = evaluate(model, lazy, by="region", **how)
    wanted = evaluate(model, memory, by=frame["region"], cv=cv, **how)
    assert_same([*found], [*wanted])
    assert_same([*found.gaps], [*wanted.gaps])
    how["metric"] = "calibration"
    bins = evaluate(model, lazy, **how)
    assert_same([*bins], [*evaluate(model, memory, cv=cv, **how)])
    assert 3 < len({each.metric for each in bins}) <= 10


@pytest.mark.parametrize("metric", ["log_loss", "brier", "regret", "cost"])
def test_losses_of_two_are_compared(metric, tmp_path):
    frame = make_table(900)
    memory, lazy, cv = both(frame, tmp_path)
    pair = model_of(frame), LogisticRegression(C=0.01).fit(*_seen(frame))
    how = {"metric": metric, "cost": [[0, 1], [5, 0]], **QUICK}
    found, wanted = compare(*pair, lazy, **how), compare(*pair, memory, cv=cv, **how)
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)
    assert (found.verdict, found.sharp) == (wanted.verdict, wanted.sharp)


def _seen(frame):
    seen = frame[frame["released"] == 1]
    return seen[NUMERIC], seen["failed"]


def test_columns_of_probabilities(tmp_path):
    frame = make_table(900)
    chance = model_of(frame).predict_proba(frame[NUMERIC])
    frame[["p_0", "p_1"]] = chance
    memory, lazy, cv = both(frame, tmp_path)
    how = {"metric": ["log_loss", "auc", "calibration"], **QUICK}
    assert_same([*evaluate(["p_0", "p_1"], lazy, **how)], [*evaluate(chance, memory, cv=cv, **how)])
    with pytest.raises(InputError, match="needs probabilities: give a list of columns"):
        evaluate("guess", lazy, metric="calibration", **QUICK)


CLUSTERED = ("groups",)
COMBINED = {
    "informed": (2, a.Instrument() & a.Informed(0.0), ()),
    "refused": (2, a.Instrument() & a.Refused(0.0, 1.0, 3.0), CLUSTERED),
    "without the instrument": (2, a.Refused(0.0, 1.0, 3.0, given="features"), ()),
    "label range": (2, a.Instrument() & a.LabelRange(0.05, 0.9), ()),
    "pots": (3, a.Instrument() & a.Informed((0.0, 1.0)), ()),
    "pots by cluster": (3, a.Instrument() & a.Informed((0.0, 1.0)), CLUSTERED),
    "prevalence": (2, a.Instrument() & a.Prevalence(1.0, (0.3, 0.45)), ()),
    "prevalence by cluster": (2, a.Instrument() & a.Prevalence(1.0, 0.4), CLUSTERED),
    "prevalence alone": (3, a.Prevalence(2.0, 0.4, standard_error=0.02), ("sample_weight",)),
    "both": (2, a.Instrument() & a.Informed(0.0) & a.Prevalence(1.0, 0.4), ()),
    "contradicted": (2, a.Instrument() & a.Prevalence(1.0, 0.02), ()),
}


@pytest.mark.parametrize("case", COMBINED.values(), ids=COMBINED)
@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_assumptions_that_combine(case, tmp_path):
    n_classes, assumption, roles = case
    frame = make_table(600, n_classes)
    frame["score"] = frame["score"].round(1)
    memory, lazy, cv = both(frame, tmp_path, *roles)
    metrics = ["accuracy", "tpr", "ppv", "f1", "share", *(["balanced_accuracy"] if n_classes == 2 else [])]
    how = {"metric": metrics, "assumption": [assumption, "instrument"], **QUICK}
    found = evaluate("guess", lazy, **how)
    wanted = evaluate(frame["guess"].to_numpy(), memory, cv=cv, **how)
    assert_same([*found], [*wanted])
    how = {"metric": ["auc"], "assumption": [assumption], **QUICK}
    ranked = evaluate("score", lazy, **how)
    assert_same([*ranked], [*evaluate(frame["score"].to_numpy(), memory, cv=cv, **how)])
    assert ranked[0].sample.rank_error == 0.0


@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_shares_of_groups_and_of_subgroups(tmp_path):
    frame = make_table(900)
    frame["zone"] = np.where(frame["x_4"] > 0, 1, 2)
    columns = [*NUMERIC, "zone"]
    memory = SelectiveLabels.from_frame(frame, **NAMED, features=columns)
    lazy = from_folder(write(frame, tmp_path), features=columns)
    stated = a.Instrument() & a.Prevalence(1.0, ((1, 0.4), (2, (0.3, 0.6))), by="zone")
    how = {"metric": ["accuracy", "tpr"], "assumption": [stated], **QUICK}
    found = evaluate("guess", lazy, by="region", **how)
    wanted = evaluate(
        frame["guess"].to_numpy(), memory, by=frame["region"], cv=folds_of(np.arange(900)), **how
    )
    assert_same([*found], [*wanted])
    assert_same([*found.gaps], [*wanted.gaps])


def test_a_range_of_labels_as_an_option_and_in_a_curve(tmp_path):
    frame = make_table(900)
    memory, lazy, cv = both(frame, tmp_path)
    how = {"label_range": (0.05, 0.9), **QUICK}
    found = evaluate("guess", lazy, **how)
    assert_allclose(
        numbers(found), numbers(evaluate(frame["guess"].to_numpy(), memory, cv=cv, **how)), **CLOSE
    )
    assert found.width < evaluate("guess", lazy, **QUICK).width
    how = {"thresholds": [-0.5, 0.5], "assumption": a.Instrument() & a.Informed(1.0), **QUICK}
    curves = (
        threshold_curve("score", lazy, **how),
        threshold_curve(frame["score"].to_numpy(), memory, cv=cv, **how),
    )
    assert_allclose(*(each.to_frame().to_numpy() for each in curves), **CLOSE)


def test_kept_scores_of_earmarked_slack(tmp_path):
    frame = make_table(900, 3)
    (tmp_path / "files").mkdir()
    stated = a.Instrument() & a.Informed((1.0, 2.0))
    kept = from_folder(write(frame, tmp_path / "files"), features=NUMERIC, keep_scores=tmp_path / "scores")
    how = {"assumption": [stated], **QUICK}
    first = evaluate(model_of(frame), kept, metric=["accuracy"], **how)
    again = evaluate(model_of(frame), kept, metric=["accuracy", "log_loss", "regret"], **how)
    assert_allclose(numbers(again[0]), numbers(first[0]), **CLOSE)
    assert again[1].metric == "log_loss"
    with pytest.raises(InputError, match="must be numbers, not functions"):
        evaluate("guess", kept, label_range=(lambda X: np.zeros((len(X), 3)), 0.9), **QUICK)


def test_every_label_seen_and_no_slack_left(tmp_path):
    frame = make_table(600)
    frame["failed"], frame["released"] = frame["failed"].fillna(1.0), 1
    memory, lazy, _ = both(frame, tmp_path)
    how = {"metric": ["log_loss", "regret", "calibration"], **QUICK}
    model = model_of(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same([*evaluate(model, lazy, **how)], [*evaluate(model, memory, **how)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"assumption": "tilt"}, "'tilt' is not available"),
        (
            {"metric": "log_loss", "assumption": a.Instrument() & a.Prevalence(1.0, 0.4)},
            "leave the prevalence",
        ),
        ({"assumption": a.Instrument() & a.Prevalence(9.0, 0.4)}, r"9\.0"),
        ({"assumption": a.Instrument() & a.Prevalence(1.0, ((1, 0.4),), by="nowhere")}, "is not a column"),
    ],
)
def test_what_stays_refused_names_the_remedy(options, words, tmp_path):
    frame = make_table(300)
    with pytest.raises(InputError, match=words):
        evaluate(model_of(frame), from_folder(write(frame, tmp_path), features=NUMERIC), **QUICK, **options)


def test_ceilings_are_refused(tmp_path):
    frame = make_table(300, 4)
    crossing = a.Instrument() & a.Informed((0.0, 1.0, 2.0)) & a.Informed((1.0, 2.0, 3.0))
    with pytest.raises(InputError, match=r"not available on data in partitions; take rows .*data\.sample"):
        evaluate("guess", from_folder(write(frame, tmp_path), features=NUMERIC), assumption=crossing, **QUICK)


@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_a_ladder_and_the_course_of_time(tmp_path):
    frame = make_table(600)
    frame["day"] = pd.date_range("2024-01-01", periods=600, freq="12h")
    frame["year"] = frame["day"].dt.month // 6 + 2023
    memory, lazy, cv = both(frame, tmp_path, "sample_weight")
    assumption_steps = {
        "assumptions": [a.Informed(0.0), a.Prevalence(1.0, (0.3, 0.5)), "unconfounded"],
        **QUICK,
    }
    found = ladder("guess", lazy, **assumption_steps)
    wanted = ladder(frame["guess"].to_numpy(), memory, cv=cv, **assumption_steps)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), **CLOSE)
    for period, every in (("day", "quarter"), ("year", None)):
        for metric in ("accuracy", "tpr"):
            how = {"metric": metric, "every": every, **QUICK}
            one = drift("guess", lazy, period=period, **how)
            other = drift(frame["guess"].to_numpy(), memory, period=frame[period], cv=cv, **how)
            pd.testing.assert_frame_equal(one.to_frame(), other.to_frame(), **CLOSE)
    assert one.to_frame()["period"].tolist() == [2023, 2024]
    grouped, from_parts, cv = both(frame, tmp_path, "groups")
    one = drift("guess", from_parts, period="year", **QUICK)
    other = drift(frame["guess"].to_numpy(), grouped, period=frame["year"], cv=cv, **QUICK)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame(), **CLOSE)
    assert drift(model_of(frame), lazy, period="day", every="month", metric="log_loss", **QUICK).moves()
    for bad, words in (
        ({"period": "day"}, "has dates: say with every="),
        ({"period": "score"}, "different values; cut dates"),
        ({"period": frame["day"], "every": "month"}, "names a column"),
        ({"period": "nowhere"}, "is not a column"),
    ):
        with pytest.raises(InputError, match=words):
            drift("guess", lazy, **bad, **QUICK)


def injected(X):
    """Known probabilities of decision and label, for six decision-makers."""
    leniency, chance = np.linspace(0.3, 0.8, 6), 1.0 / (1.0 + np.exp(X[:, 0]))
    joint = leniency[None, :, None] * np.stack([1 - chance, chance], axis=1)[:, None, :]
    return np.concatenate([1.0 - joint.sum(axis=2, keepdims=True), joint], axis=2)


@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_any_order_of_partitions_and_one_pass_for_all_that_is_asked(tmp_path, monkeypatch):
    frame = make_table(600).assign(case=lambda each: each.index)
    how = {
        "metric": ["accuracy", "f1", "auc", "log_loss", "brier", "regret", "calibration"],
        "assumption": ["none", a.Instrument() & a.Informed(0.0)],
        "nuisance": injected,
        "propensity": "shares",
        "random_state": 0,
    }
    model, passes, found = model_of(frame), [], []
    run = Prepared.run
    monkeypatch.setattr(Prepared, "run", lambda *given: passes.append(given) or run(*given))
    for number, (order, n_parts) in enumerate([(frame.index, 1), (frame.index[::-1], 7)]):
        (tmp_path / str(number)).mkdir()
        files = write(frame.loc[order], tmp_path / str(number), n_parts)
        found.append(
            evaluate(model, from_folder(files, features=NUMERIC, case_id="case"), by="region", **how)
        )
    assert len(passes) == 2
    memory = SelectiveLabels.from_frame(frame, **NAMED, features=NUMERIC)
    found.append(evaluate(model, memory, by=frame["region"], **how))
    for one, other in ((found[1], found[0]), (found[0], found[2])):
        # A score computed of fewer rows may differ in its last digit, and then lies between two values.
        ranked = [[each for each in some if each.metric == "auc"] for some in (one, other)]
        for first, second in zip(*ranked, strict=True):
            error = first.sample.rank_error + second.sample.rank_error
            assert error < 1e-3
            assert_allclose([first.lower, first.upper], [second.lower, second.upper], atol=error + 1e-8)
        assert_same(*([each for each in some if each.metric != "auc"] for some in (one, other)))


SENSITIVITY = {
    "gamma": {"values": [1.0, 1.5, 3.0], "threshold": 0.5},
    "odds": {"values": [0.5, 1.0, 2.0], "pos_label": 1.0},
    "ratio": {"values": [0.5, 1.0, 2.0], "limit": "none", "threshold": 0.4},
    "share": {"values": [0.2, 0.4]},
    "rho": {"values": [0.0, 0.1]},
    "prevalence": {"values": [0.3, 0.45, 0.99]},
}


def assert_same_curve(found, wanted):
    for name in ("x", "lower", "upper", "ci_lower", "ci_upper", "crossed", "ends_crossed"):
        assert_allclose(getattr(found, name), getattr(wanted, name), **CLOSE)


@pytest.mark.parametrize("parameter", SENSITIVITY)
@pytest.mark.filterwarnings(
    "ignore:two ways to use the known share", "ignore::selective_labels.DiagnosticWarning"
)
def test_sensitivity_curves(parameter, tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path, "sample_weight", "groups")
    how = {"parameter": parameter, **SENSITIVITY[parameter], **QUICK}
    found = sensitivity_curve("guess", lazy, **how)
    wanted = sensitivity_curve(frame["guess"].to_numpy(), memory, cv=cv, **how)
    assert_same_curve(found, wanted)
    for name in ("limit_lower", "limit_upper", "break_even", "break_even_ci", "n_samples", "units", "title"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert one == other or one == pytest.approx(other, rel=1e-8, abs=1e-8), name
    assert found.supported is None
    assert (wanted.supported is not None) == (parameter == "odds")
    assert any("odds ratios the instrument supports" in each for each in found.cautions) == (
        parameter == "odds"
    )


def test_sensitivity_of_a_difference_and_of_a_share(tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path)
    how = {"values": [1.0, 2.0], **QUICK}
    found = sensitivity_curve("guess", lazy, compare_to="other", **how)
    guesses = frame["guess"].to_numpy(), frame["other"].to_numpy()
    wanted = sensitivity_curve(guesses[0], memory, compare_to=guesses[1], cv=cv, **how)
    assert_same_curve(found, wanted)
    how = {"metric": "share", "parameter": "rho", "values": [0.1], **QUICK}
    found, wanted = sensitivity_curve(None, lazy, **how), sensitivity_curve(None, memory, cv=cv, **how)
    assert_same_curve(found, wanted)
    for parameter in ("skill_range", "kappa"):
        with pytest.raises(InputError, match=r"^assumption '.*' is not available on data in partitions"):
            sensitivity_curve("guess", lazy, parameter=parameter, **QUICK)
    with pytest.raises(InputError, match="a sensitivity curve is of one metric"):
        sensitivity_curve("guess", lazy, metric=["accuracy", "tpr"], **QUICK)
