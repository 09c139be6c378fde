"""Ends under a known share: their errors, near ties of multipliers, and contradictions by clusters."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from selective_labels.identification.prevalence import Share
from selective_labels.inference.bound_estimators import Ratio
from selective_labels.inference.evidence import Evidence, covariance, mean_estimate
from selective_labels.inference.known_prevalence import best_of, contradiction, notice_ties

EVERYBODY = np.array([0.0, 1.0])


def scores(n, seed=0):
    """Two classes: scores of lower bounds, a rule, and the evidence under a share of the second class."""
    generator = np.random.default_rng(seed)
    lower = generator.normal([0.25, 0.3], 0.4, (n, 2))
    return lower, generator.integers(0, 2, n)


def evidence_of(lower, share, clusters=None, weights=None):
    known = Share(EVERYBODY, share, share, np.ones(len(lower), dtype=bool))
    found = Evidence(lower, 1.0 - lower.sum(axis=1), lower)
    return found.with_shares((known,), np.ones(len(lower)) if weights is None else weights, clusters)


@pytest.mark.parametrize(("share", "binding"), [(0.35, True), (0.7, False)])
def test_the_largest_tpr_has_the_closed_form_and_its_error(share, binding):
    """π TPR <= E[L 1{t=1}] + min(π - E[L], E[slack 1{t=1}]), divided by a share that is known."""
    lower, rule = scores(4000)
    event = np.tile(EVERYBODY, (len(rule), 1))
    _, high = Ratio(rule[:, None] * event, event).ends(evidence_of(lower, share), None)
    positive, slack = (rule == 1), 1.0 - lower.sum(axis=1)
    rows = share - lower[:, 1] * ~positive if binding else (lower[:, 1] + slack) * positive
    assert high.value == pytest.approx(rows.mean() / share, abs=1e-9)
    error = np.sqrt(covariance([high.influence])[0, 0])
    assert error == pytest.approx(rows.std(ddof=1) / np.sqrt(len(rows)) / share, rel=1e-6)


def test_the_best_of_two_that_tie_is_covered():
    """Two valid upper ends of equal value: the limit of the smaller holds in 95 % (2,000 draws, ± .005).

    Below .93 by chance once in ten thousand times; without the wider factor it would be about .91.
    """
    generator, held, naive = np.random.default_rng(0), [], []
    for _ in range(2000):
        ends = [mean_estimate(each) for each in generator.standard_normal((2, 50))]
        best = sorted(ends, key=lambda each: each.value)
        found = best_of(best, covariance, 1.0)
        error = np.sqrt(covariance([found.influence])[0, 0])
        held.append(found.value + 1.645 * error >= 0.0)
        naive.append(found.value + 1.645 * error / found.widened >= 0.0)
    assert np.mean(held) >= 0.93
    assert np.mean(naive) < 0.93


def test_a_tie_is_worth_a_word_where_it_lengthens_the_interval_by_a_twentieth():
    generator = np.random.default_rng(0)
    low, *tied = (mean_estimate(each) for each in generator.standard_normal((3, 50)))
    tied = [replace(each, value=0.5) for each in tied]
    high = best_of(tied, covariance, 1.0)
    assert high.widened > 1.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far, near = replace(low, value=-3.0), replace(low, value=0.5)
        assert notice_ties(far, high, covariance) == (far, high)  # most of the interval lies between its ends
        notice_ties(near, tied[0], covariance)  # no tie
    with pytest.warns(UserWarning, match="cannot be told apart"):
        notice_ties(near, high, covariance)


def test_rows_of_one_case_do_not_contradict_more_than_the_case():
    """Six copies of every row are no more evidence than one, if the groups say so."""
    lower, _ = scores(150, seed=3)
    limit = lower[:, 1].mean() - 2.5 * lower[:, 1].std(ddof=1) / np.sqrt(len(lower))
    copies, case = np.repeat(lower, 6, axis=0), np.repeat(np.arange(len(lower)), 6)
    tail = 5e-4
    assert contradiction(evidence_of(lower, limit), tail) == ""
    assert contradiction(evidence_of(copies, limit), tail).startswith("contradicted")
    assert contradiction(evidence_of(copies, limit, case), tail) == ""


@pytest.mark.filterwarnings("ignore:two ways to use")
def test_a_weight_of_two_is_a_row_that_stands_there_twice():
    lower, rule = scores(300, seed=4)
    times = np.random.default_rng(0).integers(1, 3, len(lower))
    event = np.tile(EVERYBODY, (len(rule), 1))
    one = Ratio(rule[:, None] * event, event).ends(
        evidence_of(lower, 0.4, weights=times.astype(float)), times.astype(float)
    )
    rows = np.repeat(np.arange(len(lower)), times)
    other = Ratio((rule[:, None] * event)[rows], event[rows]).ends(evidence_of(lower[rows], 0.4), None)
    for a, b in zip(one, other, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-9)
