"""Every role and every setting that an entry takes arrives where it is used, and in no other's place."""

from inspect import signature

import pytest

import selective_labels as sl
from selective_labels.data.roles import ROLES
from selective_labels.evaluation import evaluator
from selective_labels.evaluation.evaluator import Inference
from selective_labels.nuisance.cross_fit import FittingSettings

SAMPLE = sl.datasets.make_decision_makers(60, n_classes=2, n_decision_makers=3, random_state=0)
SCORE = SAMPLE.X[:, 0]
RULE = (SCORE < 0).astype(int)
FITTED = sl.SelectedSampleClassifier("linear").fit(SAMPLE.X, SAMPLE.y)
# What stands before the table, and what an entry cannot do without.
JUDGED = {
    sl.evaluate: ((RULE,), {}),
    sl.compare: ((RULE, 1 - RULE), {}),
    sl.threshold_curve: ((SCORE,), {}),
    sl.policy_curve: ((SCORE,), {}),
    sl.ladder: ((RULE,), {}),
    sl.drift: ((RULE,), {"period": RULE}),
}
TOLD_ROLES = JUDGED | {
    sl.sensitivity_curve: ((RULE,), {}),
    sl.diagnose: ((), {}),
    sl.assess: ((), {}),
    sl.lower_bound_scorer: ((FITTED,), {}),
    FITTED.fit: ((), {}),
    FITTED.score: ((), {}),
}
# Nothing at its default, and no two alike.
FITTING = {"nuisance": "quadratic", "propensity": "model", "cv": 7, "n_repeats": 3, "n_jobs": 1}
QUESTION = {
    "assumption": "none",
    "cluster": "decision_maker",
    "label_range": (0.1, 0.9),
    "instrument": "numeric",
    "pos_label": 0,
    "cost": [[0, 1], [2, 0]],
    "by": RULE.tolist(),
}


class ArrivedError(Exception):
    """Ends a call where something has arrived."""


def named(entry):
    return getattr(entry, "__name__", "lower_bound_scorer")


@pytest.fixture
def stopped_at_the_table(monkeypatch):
    def stop(X, y, **roles):
        raise ArrivedError({role: given for role, given in roles.items() if given is not None})

    monkeypatch.setattr(sl.SelectiveLabels, "from_arrays", stop)


@pytest.mark.usefixtures("stopped_at_the_table")
@pytest.mark.parametrize("entry", TOLD_ROLES, ids=named)
def test_every_role_arrives(entry):
    before, needed = TOLD_ROLES[entry]
    given = {role: object() for role in ROLES}
    with pytest.raises(ArrivedError) as caught:
        entry(*before, SAMPLE.X, SAMPLE.y, **given, **needed)
    assert caught.value.args[0] == given


@pytest.mark.usefixtures("stopped_at_the_table")
@pytest.mark.parametrize("entry", [sl.contraction, sl.quintile_contraction, sl.extrapolate], ids=named)
def test_every_role_of_a_method_without_features_arrives(entry):
    given = {role: object() for role in ROLES if role in signature(entry).parameters}
    with pytest.raises(ArrivedError) as caught:
        entry(SCORE, SAMPLE.y, **given)
    assert caught.value.args[0] == given


class Stop:
    """A fitted table that ends a call with the request that it is asked."""

    table = sl.SelectiveLabels.from_arrays(SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker)
    has_instrument = True

    def judge(self, request, *others, **more):
        raise ArrivedError(request)

    cut = policy_sample = judge

    def classes_with(self, classifiers):
        return self.table.classes

    def periods(self, period, every):
        return period


@pytest.mark.parametrize("entry", JUDGED, ids=named)
def test_every_setting_arrives(entry, monkeypatch):
    arrived = {}

    def stop(table, fitting, instrument):
        arrived.update(fitting=fitting, instrument=instrument)
        return Stop()

    monkeypatch.setattr(evaluator, "_fitted_table", stop)
    taken = [*signature(entry).parameters, *Inference.__annotations__]
    question = {name: QUESTION[name] for name in QUESTION if name in taken}
    before, needed = JUDGED[entry]
    given = {"decision_maker": SAMPLE.decision_maker, "random_state": 11, **FITTING, **question, **needed}
    with pytest.raises(ArrivedError) as caught:
        entry(*before, SAMPLE.X, SAMPLE.y, **given)
    asked = caught.value.args[0]
    assert arrived == {"fitting": FittingSettings(**FITTING, seed=11), "instrument": "numeric"}
    del question["instrument"]
    assert {name: getattr(asked, name) for name in question} == question


@pytest.mark.parametrize("entry", JUDGED, ids=named)
def test_a_misspelt_keyword_is_refused_with_the_nearest_name(entry):
    before, needed = JUDGED[entry]
    message = f"{entry.__name__}.. has no keyword 'decison_maker'; did you mean 'decision_maker'"
    with pytest.raises(TypeError, match=message):
        entry(*before, SAMPLE.X, SAMPLE.y, decison_maker=SAMPLE.decision_maker, **needed)
