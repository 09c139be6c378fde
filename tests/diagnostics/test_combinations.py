"""SL1001 to SL1006: size where a combination holds, power where it does not."""

from dataclasses import dataclass

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, Prevalence, Refused, RisingRisk, SameRanking
from selective_labels.assumptions.base import Part
from selective_labels.diagnostics.combinations import algebra_results
from selective_labels.diagnostics.context import Context
from selective_labels.nuisance.cross_fit import FittingSettings

INSTRUMENT = Instrument()
N = 1500


def results(seed, assumption, **design):
    sample = sl.datasets.make_decision_makers(
        N, n_classes=2, n_decision_makers=4, mirrored=True, random_state=seed, **design
    )
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    context = Context(data, FittingSettings("logistic", cv=2, n_jobs=1, seed=0))
    made = assumption(float(sample.y_true.mean()))
    return {each.code: each for each in algebra_results(context, data, [made])}


def test_a_false_direction_is_refuted_by_a_prevalence():
    """Informed with the wrong label: the prevalence test rejects in every draw."""
    rejected = [
        results(seed, lambda share: INSTRUMENT & Informed(0) & Prevalence(1, share))["SL1002"].status
        for seed in range(5)
    ]
    assert rejected == ["violated"] * 5


def test_what_holds_is_rarely_refuted():
    """Ten draws at 5 %: more than three rejections of one check have a chance below .002."""
    counts = {}
    for seed in range(10):
        found = results(
            seed,
            lambda share: (
                INSTRUMENT
                & Informed(1)
                & Prevalence(1, share)
                & SameRanking()
                & Refused(1, at_least=0.5, at_most=20.0)
            ),
        )
        assert set(found) == {"SL1001", "SL1002", "SL1003", "SL1005", "SL1006"}
        for code, each in found.items():
            counts[code] = counts.get(code, 0) + (each.status == "violated")
    assert max(counts.values()) <= 3


@dataclass(frozen=True)
class AsInThePilot(Part):
    """An assumption of a user's own, which passes on the bounds of one of ours."""

    stated: Refused

    name, title = "as in the pilot", "As in the pilot"
    meaning = sentence = "refused cases fail as often as the pilot says."
    formula = refuted_by = ""

    def floors(self, classes):
        return self.stated.floors(classes)


def test_an_assumption_of_ones_own_is_checked_by_what_it_holds():
    stated = Refused(1, at_least=0.5, at_most=20.0)
    own, ours = (
        results(0, lambda share, part=part: INSTRUMENT & part) for part in (AsInThePilot(stated), stated)
    )
    assert "SL1005" in ours
    assert {code: each.statistic for code, each in own.items()} == {
        code: each.statistic for code, each in ours.items()
    }


def test_order_and_rising_risk_are_refuted_where_skill_differs():
    """Of two equally sized groups, the strict one accepts class 1 only, the lenient one mostly class 0."""
    generator = np.random.default_rng(0)
    n = 3000
    truth, maker = generator.integers(0, 2, n), generator.integers(0, 2, n)
    chance = np.where(maker == 0, np.where(truth == 1, 0.7, 0.1), np.where(truth == 1, 0.3, 0.9))
    y = np.where(generator.random(n) < chance, truth, -1)
    data = sl.SelectiveLabels.from_arrays(generator.standard_normal((n, 1)), y, decision_maker=maker)
    context = Context(data, FittingSettings("logistic", cv=2, n_jobs=1, seed=0))
    found = {each.code: each for each in algebra_results(context, data, [INSTRUMENT & RisingRisk(1)])}
    assert found["SL1003"].status == "violated"
    assert found["SL1004"].status == "violated"


def test_rounding_is_no_contradiction():
    """A floor and a ceiling that are the same number: what is missing is of the last digit."""
    found = results(1, lambda _: INSTRUMENT & Refused(1, at_least=1.0, at_most=1.0), leniency_spread=0.0)
    assert found["SL1001"].status == "ok"
    assert "0% of cases" in found["SL1001"].message


def test_too_small_a_ratio_is_noticed():
    found = results(0, lambda share: INSTRUMENT & Informed(1) & Refused(1, at_most=0.5))
    assert found["SL1005"].status == "warning"
    assert "0.5 is stated" in found["SL1005"].message


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_diagnose_says_it_and_allows_asks_it():
    sample = sl.datasets.make_decision_makers(
        N, n_classes=2, n_decision_makers=4, mirrored=True, random_state=0
    )
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    right = INSTRUMENT & Informed(1) & Prevalence(1, float(sample.y_true.mean()))
    wrong = INSTRUMENT & Informed(0) & Prevalence(1, float(sample.y_true.mean()))
    diagnosis = sl.diagnose(data, assumptions=[right, wrong], random_state=0, n_permutations=19)
    assert diagnosis.status("algebra") == "violated"
    assert "SL1002" in repr(diagnosis)
    assert diagnosis.allows(wrong).verdict == "refuted"
    assert "SL1002" in diagnosis.allows(wrong).reason
    assert diagnosis.allows(right).verdict != "refuted"


def test_copies_of_cases_are_no_more_evidence_if_the_groups_say_so():
    """Every case three times, all alike: p-values are far smaller, unless groups tell of the copies."""
    sample = sl.datasets.make_decision_makers(
        400, n_classes=2, n_decision_makers=4, mirrored=True, random_state=0
    )
    assumption, rows = INSTRUMENT & Informed(0) & Prevalence(1, 0.6), np.repeat(np.arange(400), 3)
    found = []
    for groups in (None, rows):
        roles = {"decision_maker": sample.decision_maker[rows], "groups": groups}
        data = sl.SelectiveLabels.from_arrays(sample.X[rows], sample.y[rows], **roles)
        context = Context(data, FittingSettings("logistic", cv=2, n_jobs=1, seed=0))
        check = {each.code: each for each in algebra_results(context, data, [assumption])}["SL1002"]
        found.append(check.statistic)
    # Folds differ, since copies stay together where groups are known; the statistic falls by about √3.
    assert 1.3 < found[0] / found[1] < 2.4


def test_leniency_speaks_against_a_wrong_direction():
    """Refused cases are class 1 more often here: `Informed(0)` is the wrong way round."""
    sample = sl.datasets.make_decision_makers(
        3000, n_classes=2, n_decision_makers=6, mirrored=True, additive=False, random_state=0
    )
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    wrong, right = INSTRUMENT & Informed(0), INSTRUMENT & Informed(1)
    found = sl.diagnose(data, assumptions=[wrong, right], random_state=0, n_permutations=19)
    status = {each.name: each.status for each in found if each.code == "SL1006"}
    assert status == {f"direction ({wrong.name})": "warning", f"direction ({right.name})": "ok"}
    assert found.allows(wrong).verdict == "doubtful"
    assert found.allows(right).verdict == "cannot be checked"
