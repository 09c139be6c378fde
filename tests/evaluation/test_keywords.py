"""Every role and every setting that an entry takes arrives where it is used, and in no other's place."""

import sys
from inspect import signature

import pytest

import selective_labels as sl
from selective_labels.data.roles import ROLES
from selective_labels.nuisance.settings import FittingSettings

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


@pytest.mark.parametrize("entry", JUDGED, ids=named)
def test_every_setting_arrives(entry, monkeypatch):
    def stop(asked, *others, **more):
        raise ArrivedError(asked)

    for name in ("judged_on", "cut_on", "ground_on"):
        monkeypatch.setattr(sys.modules[entry.__module__], name, stop, raising=False)
    taken = signature(entry).parameters
    fitting, question = ({name: all_[name] for name in all_ if name in taken} for all_ in (FITTING, QUESTION))
    before, needed = JUDGED[entry]
    given = {"decision_maker": SAMPLE.decision_maker, "random_state": 11, **fitting, **question, **needed}
    with pytest.raises(ArrivedError) as caught:
        entry(*before, SAMPLE.X, SAMPLE.y, **given)
    asked = caught.value.args[0]
    assert asked.fitting == FittingSettings(**fitting, seed=11)
    assert {name: getattr(asked, name) for name in question} == question
