"""Learners that share a memory share what is identified, warnings included."""

import warnings

import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from selective_labels import lower_bound_scorer
from selective_labels.estimators import identified
from tests.estimators.samples import fit, make_sample, quick


@pytest.fixture
def counted(monkeypatch):
    """How often something was identified."""
    calls = []
    identify = identified.identify

    def counting(data, **settings):
        calls.append(settings["mode"])
        return identify(data, **settings)

    monkeypatch.setattr(identified, "identify", counting)
    return calls


def test_another_estimator_needs_no_second_identification(tmp_path, counted):
    sample = make_sample(300)
    for estimator in ("plug-in", LogisticRegression()):
        alone, sharing = (
            fit(quick(estimator=estimator, memory=memory), sample) for memory in (None, str(tmp_path))
        )
        assert_array_equal(alone.predict(sample.X), sharing.predict(sample.X))
        assert_array_equal(alone.predict_bounds(sample.X).lower, sharing.predict_bounds(sample.X).lower)
        assert alone.worst_case_regret_ == sharing.worst_case_regret_
    # Once without a memory, and once with it.
    assert len(counted) == 2


def test_a_search_over_estimators_identifies_each_fold_once(counted):
    sample = make_sample(300)
    options = {"estimator": ["plug-in", "linear", LogisticRegression()]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(quick(), options, cv=2, scoring=lower_bound_scorer)
        search.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    assert len(counted) == 3  # two folds, and the final fit on all rows


def test_what_is_not_plain_is_identified_anew(counted):
    """A function may be another one under the same name."""
    sample = make_sample(300)
    for _ in range(2):
        fit(quick(nuisance=sample.oracle.joint), sample)
    assert len(counted) == 2


def test_only_the_last_few_are_kept(counted):
    sample = make_sample(120)
    for seed in range(identified.MOST_RECENT + 1):
        fit(quick(random_state=seed), sample)
    fit(quick(random_state=0), sample)
    assert len(counted) == identified.MOST_RECENT + 2


@pytest.mark.parametrize(
    "change", [{"mode": "point"}, {"random_state": 1}, {"nuisance": "boosting"}, {"cv": 3}], ids=str
)
def test_other_settings_are_identified_anew(change, tmp_path, counted):
    sample = make_sample(300)
    fit(quick(memory=str(tmp_path)), sample)
    fit(quick(memory=str(tmp_path), **change), sample)
    assert len(counted) == 2


@pytest.mark.parametrize("column", ["X", "y", "decision_maker"])
@pytest.mark.filterwarnings("ignore:the rule predicts")  # what is remembered is asked, not the rule
def test_other_data_are_identified_anew(column, tmp_path, counted):
    sample = make_sample(300)
    values = {name: getattr(sample, name).copy() for name in ("X", "y", "decision_maker")}
    for _ in range(2):
        quick(memory=str(tmp_path)).fit(values["X"], values["y"], decision_maker=values["decision_maker"])
        values[column] = values[column][::-1].copy()
    assert len(counted) == 2


def test_the_number_of_jobs_does_not_matter(tmp_path, counted):
    sample = make_sample(300)
    for n_jobs in (None, 1):
        fit(quick(memory=str(tmp_path), n_jobs=n_jobs), sample)
    assert len(counted) == 1


def test_a_warning_is_remembered_too(tmp_path, monkeypatch):
    def warn(data, **settings):
        warnings.warn("SL101: too alike.", UserWarning, stacklevel=2)
        return identify(data, **settings)

    identify = identified.identify
    monkeypatch.setattr(identified, "identify", warn)
    sample = make_sample(300)
    for _ in range(2):
        with pytest.warns(UserWarning, match="SL101") as caught:
            quick(memory=tmp_path).fit(sample.X, sample.y, decision_maker=sample.decision_maker)
        assert caught[0].filename == __file__, "it points at the caller of fit"
