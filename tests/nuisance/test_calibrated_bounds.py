"""Bounds of rows: the models' part of the scores, strata, label ranges, errors by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.assumptions import Informed, Instrument, Refused
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.calibrated_bounds import MOST_STRATA, UNKNOWN, Strata, fit_bounds
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import cross_fit_scores

N, J, K = 900, 6, 3
SAMPLE = make_decision_makers(N, K, J, random_state=0)
OFFICE = SAMPLE.decision_maker // 2
ASSUMPTIONS = {
    "instrument": Instrument(),
    "informed": Instrument() & Informed(2),
    "event": Instrument() & Informed((1, 2)),
    "ceilings": Instrument() & Refused(0, at_most=1.5) & Refused(1, at_most=1.5),
}


def table(strata=None, **roles):
    return SelectiveLabels.from_arrays(
        SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker, strata=strata, **roles
    ).bare()


@pytest.fixture(scope="module")
def fitted():
    data = table(OFFICE)
    return data, cross_fit(data, "logistic", cv=3, random_state=0)


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_numbers_of_a_fold_are_the_models_part_of_the_scores(fitted, assumption):
    data, fit = fitted
    rule, rows = fit_bounds(fit, data, ASSUMPTIONS[assumption])
    scores = cross_fit_scores(fit, data, [ASSUMPTIONS[assumption]])[ASSUMPTIONS[assumption].name]
    expected = rule.calibrated(rule.form.of_models(scores), None)
    assert_allclose(rows.models, expected, atol=1e-12)
    for here, by_fold, _ in rule.by_fold(fit, data.features, data.cells):
        own = by_fold[fit.held_out[here], np.arange(len(here))]
        assert_allclose(own, expected[here], atol=1e-10)  # new rows are treated like training rows


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_an_unknown_stratum_is_the_mean_over_strata(fitted, assumption):
    data, fit = fitted
    rule, _ = fit_bounds(fit, data, ASSUMPTIONS[assumption])
    n_strata = data.cells.max() + 1
    share = np.bincount(data.cells) / N
    raw = [
        np.stack([rule._of_fold(fit, f, data.features[:50], np.full(50, s), None) for f in range(3)])
        for s in range(n_strata)
    ]
    mean = np.tensordot(share, raw, 1)
    (_, found, _), *_ = rule.by_fold(fit, data.features[:50], np.full(50, UNKNOWN))
    assert_allclose(found, np.stack([rule.calibrated(each, None) for each in mean]), atol=1e-12)


def test_only_decision_makers_of_the_stratum_count():
    data = table(OFFICE)
    fit = cross_fit(data, SAMPLE.oracle.joint)
    rule, _ = fit_bounds(fit, data, Instrument())
    joint = SAMPLE.oracle.joint(SAMPLE.X)[:, :, 1:]
    for office in range(3):
        found = rule.bounds(fit, data.features, np.full(N, office)).lower
        assert_allclose(found, joint[:, [2 * office, 2 * office + 1]].max(axis=1), atol=1e-9)


def test_strata_are_found_by_their_labels():
    data = table(np.array(["a", "b", "c"])[OFFICE])
    strata = Strata.of(cross_fit(data, SAMPLE.oracle.joint), data)
    assert strata.codes(np.array(["c", "a", "zzz", None], dtype=object), 4).tolist() == [2, 0, -1, -1]
    assert strata.codes(None, 2).tolist() == [-1, -1]
    plain = Strata.of(cross_fit(table(), SAMPLE.oracle.joint), table())
    assert plain.codes(None, 2).tolist() == [0, 0]


def test_many_strata_are_represented_by_some():
    strata = Strata(np.arange(500), np.full(500, 1 / 500), ())
    assert len(strata.mixture) == MOST_STRATA
    assert_allclose(sum(weight for _, weight in strata.mixture), 1.0)


def test_errors_are_the_moderated_jackknife_and_the_calibration(fitted):
    data, fit = fitted
    rule, _ = fit_bounds(fit, data, Instrument())
    X, cells = data.features[:40], data.cells[:40]
    (_, by_fold, extra), *_ = rule.by_fold(fit, X, cells)
    spread = 2 * by_fold.var(axis=0)  # (L-1)/L times the sum of squares
    lower = (2 * spread + 4 * rule.noise[0]) / 6 + extra
    _, errors = rule.with_errors(fit, X, cells)
    assert_allclose(errors.lower**2, lower, atol=1e-14)
    upper = np.stack([2 * (by_fold.sum(axis=2) - by_fold[:, :, k]).var(axis=0) for k in range(K)], axis=1)
    others = extra.sum(axis=1, keepdims=True) - extra
    assert_allclose(errors.upper**2, (2 * upper + 4 * rule.noise[1]) / 6 + others, atol=1e-14)


def test_calibration_makes_the_mean_bound_that_of_the_scores():
    """Up to shrinkage; raw plug-ins of probabilities that are all too high are corrected downwards."""
    data = table()
    fit = cross_fit(data, "logistic", cv=3, random_state=0)
    _, rows = fit_bounds(fit, data, Instrument())
    raw = cross_fit_scores(fit, data, [Instrument()])["instrument"]
    gap, left = (np.abs(raw.values.mean(axis=0) - each.mean(axis=0)) for each in (raw.plug_in, rows.models))
    assert (left <= gap + 1e-9).all()


@pytest.mark.parametrize("known", [(0.05, 1.0), (0.0, 0.7), (0.05, 0.7)], ids=str)
def test_a_label_range_holds(known):
    data = table()
    fit = cross_fit(data, "logistic", cv=3, random_state=0)
    rule, rows = fit_bounds(fit, data, Instrument(), known)
    for bounds in (rows.bounds()[0], rule.bounds(fit, data.features, data.cells)):
        assert bounds.lower.min() >= known[0] - 1e-12
        assert bounds.upper.max() <= known[1] + 1e-12
        assert not bounds.crossed.any()


def test_rows_of_weight_zero_and_their_labels_do_not_matter():
    weight = (np.arange(N) % 4 > 0).astype(float)
    other = np.where((weight == 0) & (SAMPLE.y >= 0), (SAMPLE.y + 1) % K, SAMPLE.y)
    cv = [(np.flatnonzero(np.arange(N) % 3 != f), np.flatnonzero(np.arange(N) % 3 == f)) for f in range(3)]
    found = []
    for y in (SAMPLE.y, other):
        data = SelectiveLabels.from_arrays(
            SAMPLE.X, y, decision_maker=SAMPLE.decision_maker, sample_weight=weight
        ).bare()
        fit = cross_fit(data, "logistic", cv=cv, random_state=0)
        found.append(fit_bounds(fit, data, Instrument())[0].bounds(fit, data.features, data.cells).lower)
    assert_allclose(*found, atol=1e-4)
