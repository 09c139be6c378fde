"""Bands of panels: no case chooses its own, and panels that nobody has met are placed by their members."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from selective_labels import SelectiveLabels
from selective_labels.data.panels import Panels
from selective_labels.nuisance.bands import panel_bands, panel_columns
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import selector_bands
from tests.panel_designs import make_panels

N_CASES = 2000
LIMIT = norm.isf(1e-6 / 2)  # two-sided false-alarm rate of 1e-6


def read(sample, **others):
    return SelectiveLabels.from_arrays(sample.X, sample.y, **sample.roles, **others)


def flat(seed, n_people=600):
    """Panels of two people who are all alike: decisions are coins."""
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(N_CASES), 2)
    decision = rng.integers(0, 2, 2 * N_CASES)
    maker = rng.integers(0, n_people, 2 * N_CASES)
    label = rng.integers(0, 2, N_CASES)[case]
    roles = {"decision": decision, "decision_maker": maker, "groups": case, "share_labels": True}
    return SelectiveLabels.from_arrays(rng.normal(size=(N_CASES, 1))[case], label, **roles)


def surplus_of_top(data, arms):
    """Acceptance of the most lenient band above the average, cases counted once, in standard errors."""
    first = np.unique(data.groups, return_index=True)[1]
    accepted, top = data.decision[first], arms[first] == arms.max()
    rate = accepted.mean()
    return (accepted[top].mean() - rate) / np.sqrt(rate * (1 - rate) / top.sum())


@pytest.mark.parametrize("seed", range(3))
def test_bands_are_flat_if_people_are(seed):
    data = flat(seed)
    arms = panel_bands(data, np.arange(len(data)), 4, seed)
    assert abs(surplus_of_top(data, arms.rows)) < LIMIT


def test_bands_by_the_same_cases_would_not_be_flat():
    data = flat(0)
    arms = panel_bands(data, np.arange(len(data)), 4, 0)
    assert surplus_of_top(data, arms.lookup[data.decision_maker_codes]) > LIMIT


def test_panels_that_were_not_met_are_placed_by_members_and_size():
    data = read(make_panels(N_CASES, 0, sizes=(2, 4)))
    rows = np.flatnonzero(data.groups < N_CASES // 2)
    arms = panel_bands(data, rows, 3, 0)
    others = np.setdiff1d(data.decision_maker_codes, data.decision_maker_codes[rows])
    assert len(others) > 10, "else this tests nothing"
    leniency = -data.panels.people  # the design: people are numbered from the most lenient
    mean = data.panels.total(leniency.astype(float)) / data.panels.size
    of_four = np.intersect1d(others, np.flatnonzero(data.panels.size == 4))
    assert np.corrcoef(mean[of_four], arms.lookup[of_four])[0, 1] > 0.5
    assert arms.lookup[data.panels.size == 2].mean() < arms.lookup[of_four].mean()
    unmet = np.isin(data.decision_maker_codes, others)
    by_band = [data.decision[unmet & (arms.lookup[data.decision_maker_codes] == band)] for band in (1, 2)]
    assert by_band[0].mean() < by_band[1].mean(), "the bands are of acceptance by anyone"


def test_decisions_of_other_rows_are_not_used():
    sample = make_panels(400, 0)
    rows = np.flatnonzero(sample.case < 200)
    turned = sample._replace(decision=np.where(sample.case < 200, sample.decision, 1 - sample.decision))
    one, other = (panel_bands(read(each), rows, 3, 0) for each in (sample, turned))
    np.testing.assert_array_equal(one.lookup, other.lookup)
    np.testing.assert_array_equal(one.rows, other.rows)


def test_columns_against_brute_force():
    rng = np.random.default_rng(0)
    members = [sorted(rng.choice(6, rng.integers(1, 5), replace=False)) for _ in range(20)]
    panels = Panels(
        np.repeat(np.arange(20), [len(each) for each in members]), np.concatenate(members), np.arange(6), 20
    )
    chance = rng.uniform(0.05, 0.95, 6)
    refused = [np.prod([1 - chance[each] for each in panel]) for panel in members]
    columns = panel_columns(panels, chance)
    assert_allclose(columns[:, 0], -np.log(refused))
    assert_allclose(np.exp(columns[:, 1]), [len(each) for each in members])


def test_size_of_panels_is_compared_within_strata():
    """Where panels are larger in one stratum, bands are not strata."""
    small, large = make_panels(1000, 0, sizes=(1, 2)), make_panels(1000, 1, sizes=(4, 5))
    sample = type(small)(
        *(np.concatenate(pair) for pair in zip(small[:4], large[:4], strict=True)),
        np.concatenate([small.case, large.case + 1000]),
    )
    strata = (sample.case >= 1000).astype(int)
    data = read(sample, strata=strata)
    arms = panel_bands(data, np.arange(len(data)), 2, 0).rows
    within = [arms[strata == stratum].mean() for stratum in (0, 1)]
    assert min(within) > 0.2
    assert max(within) < 0.8


def test_cases_not_rows_make_bands():
    data = read(make_panels(1200, 0, sizes=(3,)))
    assert len(data) == 3600
    assert selector_bands(data) == 2
    fit = cross_fit(data, "logistic", cv=2, n_bands=2, random_state=0)
    assert fit.n_arms == 2
    assert fit.report.banded
