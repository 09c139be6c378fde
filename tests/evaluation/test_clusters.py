"""Clusters enter every standard error: with all labels seen, results are the textbook's.

Intervals of single rows, which are exact, stand in test_small_cells.py.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import compare, evaluate
from tests.evaluation.samples import fully_labeled
from tests.reference.clusters import clustered_mean

X, Y, _ = fully_labeled(120)
MAKER = np.arange(120) % 6
CASE = (np.arange(120) * 7) % 40
FIRST, SECOND = (X[:, 0] < X[:, 1]).astype(int), (X[:, 0] < 0).astype(int)
RIGHT = (FIRST == Y).astype(float)
CLUSTERS = {"decision_maker": MAKER, "groups": CASE, "none": np.arange(120)}
# Solving for the constant of an interval is good to this.
SOLVED = 1e-5


def run(function, *predictions, cluster, **options):
    return function(*predictions, X, Y, decision_maker=MAKER, groups=CASE, cluster=cluster, **options)


def assert_is(result, expected):
    assert_allclose([result.lower, result.upper], expected.mean)
    assert_allclose(result.standard_errors, expected.error, rtol=1e-9)
    assert result.exact == (result.sample.cluster is None), "labels of single rows are counts"
    if not result.exact:
        assert_allclose([result.ci_lower, result.ci_upper], [expected.lower, expected.upper], atol=SOLVED)


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_an_evaluation_has_the_interval_of_a_clustered_mean(cluster, level):
    result = run(evaluate, FIRST, cluster=cluster, confidence_level=level)
    assert_is(result, clustered_mean(RIGHT, CLUSTERS[cluster], level))
    assert result.sample.n_clusters == len(np.unique(CLUSTERS[cluster]))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_comparison_has_that_of_the_differences(cluster):
    result = run(compare, FIRST, SECOND, cluster=cluster)
    assert_is(result, clustered_mean(RIGHT - (SECOND == Y), CLUSTERS[cluster]))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_another_level_of_the_same_result_is_that_level_from_the_start(cluster):
    """Few clusters widen an interval by a factor that depends on the level."""
    result = run(evaluate, FIRST, cluster=cluster).with_interval("parameter", 0.8)
    assert_is(result, clustered_mean(RIGHT, CLUSTERS[cluster], 0.8))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_subgroup_counts_its_own_clusters(cluster):
    by = np.where(MAKER < 3, "few", "others")
    names = CLUSTERS[cluster]
    result = run(evaluate, FIRST, cluster=cluster, by=by).one(subgroup="few")
    inside = by == "few"
    assert_is(result, clustered_mean(RIGHT[inside], names[inside]))
    assert result.sample.n_clusters == len(np.unique(names[inside]))


def test_a_gap_of_groups_that_share_clusters_is_not_that_of_independent_ones():
    """Both groups have rows of the same cases: what a case adds to one it takes from the other."""
    by = np.arange(120) // 40 == 0
    gap = run(evaluate, FIRST, cluster="groups", by=by).gaps[0]
    share = np.where(by, by.mean(), 1 - by.mean())
    contrast = np.where(by, -1.0, 1.0) * (RIGHT - np.where(by, RIGHT[by].mean(), RIGHT[~by].mean())) / share
    sign = 1.0 if gap.subgroup is False else -1.0
    assert_allclose(gap.lower, sign * (RIGHT[~by].mean() - RIGHT[by].mean()))
    assert_allclose(gap.standard_errors, clustered_mean(contrast, CASE).error, rtol=1e-9)
