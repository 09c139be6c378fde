"""`diagnose` as a whole: what it returns, says and draws, and what it does with bad input."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

import selective_labels as sl
from selective_labels import DiagnosticWarning, SelectiveLabels, diagnose
from selective_labels.assumptions import Instrument
from selective_labels.assumptions.base import FAMILIES, STATUSES, worst
from selective_labels.assumptions.parse import NAMED
from selective_labels.datasets import make_decision_makers
from selective_labels.diagnostics.diagnose import CHECKS, warn_if_not_allowed
from selective_labels.diagnostics.results import CheckResult
from selective_labels.nuisance.cross_fit import cross_fit
from tests.diagnostics import designs
from tests.diagnostics.contexts import seed

ASKED = [each for each in NAMED if each.questions]
FAST = {"cv": 2, "n_permutations": 49, "random_state": 0}


def diagnosed(drawn, **options):
    return diagnose(**drawn.arguments(), **FAST | options)


@pytest.fixture(scope="module")
def good():
    return diagnosed(designs.plain(4000, 8, seed(5)))


@pytest.fixture(scope="module")
def by_feature():
    return diagnosed(designs.assigned_by_a_feature(4000, 8, seed(5)))


def test_every_check_has_a_result(good):
    assert [each.code for each in good] == [check.code for check in CHECKS]
    assert all(isinstance(each, CheckResult) for each in good)


def test_a_code_is_that_of_one_check_or_of_one_warning():
    """Warnings may repeat a check; a warning without a check has a code that no check has."""
    package = Path(sl.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py")))
    checks = re.findall(r'\b[Cc]heck\(\s*"(SL\d+)"', text)
    warnings = re.findall(r'^[A-Z_]+ = "(SL\d+)"$', text, flags=re.MULTILINE)
    assert {check.code for check in CHECKS} < set(checks)
    assert "SL105" in warnings
    assert len({*checks, *warnings}) == len(checks) + len(warnings)
    warned = set(re.findall(r'DiagnosticWarning\(\s*"(SL\d+)"', text))
    assert warned <= set(checks), "its page says what to do"


def test_codes_are_stable_and_unique(good):
    codes = [each.code for each in good]
    assert len(set(codes)) == len(codes)
    assert {each.family for each in good} == set(FAMILIES)


def test_family_status_is_the_worst_that_applied(good):
    for family in FAMILIES:
        assert good.status(family) == worst(each.status for each in good if each.family == family)


def test_not_applicable_is_not_ok():
    assert worst(["not applicable", "not applicable"]) == "not applicable"
    assert worst(["not applicable", "ok"]) == "ok"


def test_unknown_names_are_refused(good):
    for wrong in (lambda: good.status("magic"), lambda: good.allows("magic"), lambda: good.plot("magic")):
        with pytest.raises(ValueError, match="is not one of"):
            wrong()
    with pytest.raises(ValueError, match="is not one of"):
        good.allows("instrument", given="magic")
    with pytest.raises(KeyError):
        good["SL999"]


def test_good_design_is_allowed_what_holds(good):
    assert good.status("relevance") == "ok"
    assert good.status("assignment") == "ok"
    assert good.allows("instrument")
    assert good.allows("nucem")
    assert not good.allows("unconfounded")  # the design has a hidden reason for decisions


def test_assignment_by_a_feature_is_valid_given_features_only(by_feature):
    assert by_feature.status("assignment") == "violated"
    assert not by_feature.allows("instrument", given="strata")
    permission = by_feature.allows("instrument", given="features")
    assert permission
    assert "among the features" in permission.reason


def test_an_object_is_asked_about_like_its_name(good, by_feature):
    for diagnosis in (good, by_feature):
        for given in ("strata", "features"):
            named = diagnosis.allows("instrument", given=given)
            assert diagnosis.allows(Instrument(), given=given) == named


def test_nothing_is_asked_about_no_assumption(good):
    with pytest.raises(ValueError, match="assumption='none' is not one of 'instrument', 'nucem'"):
        good.allows("none")


def test_permission_reads_as_a_truth_value(good):
    assert good.allows("instrument") == True  # noqa: E712
    assert good.allows("unconfounded") == False  # noqa: E712
    assert str(good.allows("instrument")).startswith("not refuted: ")


def test_prints_a_table_and_a_verdict(good):
    text = repr(good)
    assert text.index(good.verdict.split(":")[0]) < text.index("SL101"), "the verdict leads"
    for check in CHECKS:
        assert check.code in text
    for assumption in ASKED:
        assert assumption.name in good.verdict


def test_html_is_escaped():
    sample = make_decision_makers(300, n_classes=2, n_decision_makers=2, random_state=0)
    labels = np.array(["<script>", "no", None], dtype=object)[sample.y]
    makers = np.array(["<b>a", "<b>b"], dtype=object)[sample.decision_maker]
    few = np.where(np.arange(300) < 40, np.array([f"<i>{n}" for n in range(300)], dtype=object), makers)
    html = diagnose(sample.X, labels, decision_maker=few, **FAST)._repr_html_()
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


@pytest.mark.parametrize("kind", ["leniency", "labels", "strength", "balance"])
def test_plots(good, kind):
    axes = good.plot(kind)
    assert axes.get_title()
    pyplot.close(axes.figure)


def test_plot_of_what_could_not_be_computed():
    diagnosis = diagnosed(designs.without_features(500, 4, seed()))
    with pytest.raises(ValueError, match="could not be computed"):
        diagnosis.plot("balance")
    pyplot.close("all")


def test_frame_has_one_row_per_check(good):
    frame = good.to_frame()
    assert list(frame["code"]) == [each.code for each in good]
    assert set(frame["status"]) <= set(STATUSES)


def test_same_seed_same_result():
    drawn = designs.plain(800, 4, seed())
    first, second = diagnosed(drawn), diagnosed(drawn)
    assert list(first) == list(second)


def test_unseen_labels_are_never_read():
    drawn = designs.plain(800, 4, seed())
    decision = (drawn.y >= 0).astype(int)
    garbage = np.where(decision == 1, drawn.y, np.random.default_rng(0).integers(99, size=800))
    arguments = {"decision_maker": drawn.decision_maker, "decision": decision} | FAST
    assert list(diagnose(drawn.X, garbage, **arguments)) == list(diagnose(drawn.X, drawn.y, **arguments))


def test_naming_of_decision_makers_does_not_matter():
    drawn = designs.plain(800, 4, seed())
    renamed = designs.Drawn(drawn.X, drawn.y, np.array(["a", "b", "c", "d"])[drawn.decision_maker])
    assert list(diagnosed(drawn))[:3] == list(diagnosed(renamed))[:3]


def broken_inputs():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((300, 2))
    y = np.where(generator.random(300) < 0.5, generator.integers(2, size=300), -1)
    makers = generator.integers(3, size=300)
    yield "strata of one decision-maker", designs.Drawn(X, y, makers, makers), "one decision-maker only"
    yield "one row each", designs.Drawn(X, y, np.arange(300)), "case"
    yield "no rejected case", designs.Drawn(X, np.abs(y), makers), "decided against"
    yield "constant features", designs.Drawn(np.ones((300, 2)), y, makers), "no feature that varies"
    yield "no features", designs.Drawn(None, y, makers), "no feature that varies"
    yield "all holes", designs.Drawn(np.full((300, 1), np.nan), y, makers), "no feature that varies"
    yield "one decision-maker", designs.Drawn(X, y, np.zeros(300)), "only one decision-maker"
    yield "one class", designs.Drawn(X, np.minimum(y, 0), makers), "one class"
    yield "four rows", designs.Drawn(X[:4], np.array([0, 1, -1, -1]), np.array([0, 0, 1, 1])), "could not"
    only_one_accepts = np.where(makers == 0, np.abs(y), -1)
    yield "one accepts all, others none", designs.Drawn(X, only_one_accepts, makers), "do not vary"
    yield "strata of three rows", designs.Drawn(X, y, makers, np.arange(300) // 3), "fewer than"
    rare = np.where(np.arange(300) == np.flatnonzero(y >= 0)[0], 7, y)
    yield "class of one row", designs.Drawn(X, rare, makers), "fewer than"


@pytest.mark.parametrize(
    ("drawn", "reason"), [pytest.param(*each[1:], id=each[0]) for each in broken_inputs()]
)
def test_bad_input_is_not_applicable_with_the_reason(drawn, reason):
    diagnosis = diagnosed(drawn)
    silent = [each for each in diagnosis if each.status == "not applicable"]
    assert any(reason in each.message for each in silent)
    assert all(each.p_value is None and each.statistic is None for each in silent)
    assert all(np.isfinite(each.statistic) for each in diagnosis if each.statistic is not None)
    for assumption in ASKED:
        assert diagnosis.allows(assumption).reason


@pytest.mark.parametrize("options", [{"level": 0.0}, {"n_permutations": 0}])
def test_impossible_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        diagnosed(designs.plain(100, 2, seed()), **options)


def test_large_samples_fit_models_on_some_rows(monkeypatch):
    monkeypatch.setattr("selective_labels.diagnostics.context.MODEL_ROWS", 1000)
    diagnosis = diagnosed(designs.plain(3000, 8, seed(5)))
    assert diagnosis.n_model_rows == 1000
    assert "random 1,000 cases" in repr(diagnosis)
    assert diagnosis.status("relevance") == "ok"


def fitted(drawn):
    data = SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
    return data, cross_fit(data, "logistic", cv=2, in_halves=True, random_state=0)


def test_no_warning_where_nucem_holds():
    assert warn_if_not_allowed(*fitted(designs.plain(4000, 8, seed(5))), random_state=0)


def test_warning_carries_the_code():
    with pytest.warns(DiagnosticWarning, match=r"^SL101 \(.*diagnose\(\) for all checks\.$") as caught:
        assert not warn_if_not_allowed(*fitted(designs.plain(1000, 8, seed(), leniency_spread=0.0)))
    assert caught[0].message.code == "SL101"
