"""Predictions must not depend on who decides: what is refused, what is doubtful, and what passes."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import selective_labels as sl
from selective_labels.evaluation.prediction_check import REFUSED, PredictionBalance, PredictionCheck
from selective_labels.evaluation.predictions import read_predictions

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


class Cases:
    """Six decision-makers; people look at a vendor's score, which knows more than the features."""

    def __init__(self, n_samples=2500, spread=1.0, seed=0, n_makers=6):
        rng = np.random.default_rng(seed)
        self.X, hidden, more = rng.normal(size=(n_samples, 3)), *rng.normal(size=(2, n_samples))
        self.maker = rng.integers(0, n_makers, n_samples)
        self.vendor = self.X[:, 0] + 0.7 * self.X[:, 2] ** 2 + more
        self.y_true = (rng.random(n_samples) < expit(self.X[:, 0] + hidden + more)).astype(int)
        lenient = spread * rng.permutation(np.linspace(-1.5, 1.5, n_makers))[self.maker]
        self.accepted = rng.random(n_samples) < expit(0.3 + lenient - hidden - self.vendor)
        self.mine = (self.X[:, 0] - self.X[:, 1] > 0).astype(int)
        self.habit = rng.permutation(np.linspace(-0.6, 0.6, n_makers))[self.maker]

    @property
    def data(self):
        y = np.where(self.accepted, self.y_true, -1)
        return sl.SelectiveLabels.from_arrays(self.X, y, decision_maker=self.maker)


@pytest.fixture(scope="module")
def cases():
    return Cases()


@pytest.fixture(scope="module")
def evaluator(cases):
    return sl.Evaluator(cases.data, **QUICK)


MADE_OF_DECISIONS = {
    "decisions": lambda cases: (~cases.accepted).astype(int),
    "decisions, as scores": lambda cases: cases.X[:, 0] - 2.0 * cases.accepted,
    "decisions, as probabilities": lambda cases: np.eye(2)[cases.accepted.astype(int)] * 0.8 + 0.1,
    "the model or the human": lambda cases: cases.mine & ~cases.accepted,
    "the model and the human": lambda cases: cases.mine | ~cases.accepted,
    "the decision-maker's id": lambda cases: (cases.X[:, 0] + cases.habit > 0).astype(int),
}


@pytest.mark.parametrize("name", MADE_OF_DECISIONS)
def test_predictions_made_of_decisions_are_refused_with_three_ways_out(name, cases, evaluator):
    with pytest.raises(sl.InputError, match=r'depend on who decided.*"human".*Policy.*feature') as caught:
        evaluator.evaluate(MADE_OF_DECISIONS[name](cases), metric="auc")
    assert caught.value.argument == "classifier"


@pytest.mark.parametrize(
    "prediction",
    [
        lambda cases: cases.mine,
        lambda cases: (cases.X.prod(axis=1) > 0).astype(int),
        lambda cases: (cases.vendor > 0).astype(int),
        lambda cases: cases.vendor,
        lambda cases: np.column_stack([expit(cases.X[:, 0]), expit(-cases.X[:, 0])]),
        lambda cases: np.ones(len(cases.mine), dtype=int),
    ],
)
def test_predictions_made_before_the_decision_pass(prediction, cases, evaluator):
    """Also those that people looked at; a false alarm has probability .01 for each."""
    given = prediction(cases)
    result = evaluator.evaluate(given, metric="auc" if given.dtype.kind == "f" else "accuracy")
    assert result.sample.cautions == ()


@pytest.mark.parametrize(
    "ask",
    [
        lambda ev, copy, mine: ev.compare(mine, copy),
        lambda ev, copy, mine: ev.compare(copy, "human"),
        lambda ev, copy, mine: ev.threshold_curve(copy),
        lambda ev, copy, mine: ev.policy_curve(copy, rates=[0.5]),
        lambda ev, copy, mine: ev.ladder(copy),
        lambda ev, copy, mine: ev.drift(copy, period=mine),
        lambda ev, copy, mine: ev.sensitivity_curve(copy, values=[1.0]),
        lambda ev, copy, mine: ev.sensitivity_curve(mine, compare_to=copy, values=[1.0]),
        lambda ev, copy, mine: ev.plan(copy, width=0.1),
        lambda ev, copy, mine: ev.evaluate(sl.Policy(copy, threshold=0.5)),
        lambda ev, copy, mine: ev.evaluate(sl.Policy(mine, with_human=copy)),
        lambda ev, copy, mine: ev.evaluate(copy, assumption="all"),
    ],
)
def test_every_question_refuses_them(ask, cases, evaluator):
    with pytest.raises(sl.InputError, match="depend on who decided"):
        ask(evaluator, (~cases.accepted).astype(float), cases.mine)


def test_what_the_refusal_recommends_works(cases, evaluator):
    human = evaluator.evaluate("human")
    assert human.ci_lower <= np.mean(~cases.accepted == cases.y_true) <= human.ci_upper
    assert evaluator.evaluate(sl.Policy(cases.X[:, 0], with_human="both")).defined
    known = sl.SelectiveLabels.from_arrays(
        np.column_stack([cases.X, cases.vendor]), cases.data.y, decision_maker=cases.maker
    )
    assert sl.evaluate((cases.vendor > 0).astype(int), known, **QUICK).sample.cautions == ()


def test_nothing_is_compared_where_no_assumption_compares_decision_makers(cases, evaluator):
    copy = (~cases.accepted).astype(int)
    for name in ("none", "unconfounded"):
        cautions = evaluator.evaluate(copy, assumption=name).sample.cautions
        # Reasons for decisions are hidden: SL901 says so of unconfoundedness. Nothing is said of predictions.
        assert all("Unconfoundedness is not to be trusted here (SL901)" in each for each in cautions)
        assert len(cautions) == (name == "unconfounded")
    seen = sl.evaluate(copy, cases.X, cases.y_true, decision_maker=cases.maker, **QUICK)
    assert seen.lower == pytest.approx(np.mean(copy == cases.y_true))


@pytest.fixture
def doubtful(monkeypatch, cases):
    """An evaluator for which every prediction has a p-value of .005, and the number of tests so far."""
    tested = []

    def p_value(self, columns):
        tested.append(columns)
        return 0.005

    monkeypatch.setattr(PredictionBalance, "p_value", p_value)
    return sl.Evaluator(cases.data, **QUICK), tested


def test_a_doubt_stands_in_every_result(cases, doubtful):
    evaluator, _ = doubtful
    mine, other = cases.mine, 1 - cases.mine
    both = evaluator.evaluate(mine, assumption=["none", "instrument"])
    assert both[0].sample.cautions == ()  # no decision-makers are compared
    for result in (
        both[1],
        evaluator.compare(mine, other),
        evaluator.threshold_curve(mine, thresholds=[0.5]),
        evaluator.policy_curve(mine, rates=[0.5]),
        evaluator.ladder(mine),
        evaluator.drift(mine, period=other),
        evaluator.sensitivity_curve(mine, values=[1.0]),
        evaluator.evaluate(sl.Policy(mine)),
    ):
        assert "doubtful" in str(result)
        assert "conservative" not in str(result)


def test_a_prediction_is_tested_once(cases, doubtful):
    evaluator, tested = doubtful
    for metric in ("accuracy", "tpr"):
        evaluator.evaluate(cases.mine, metric=metric)
        evaluator.compare(cases.mine, cases.mine.copy(), metric=metric)
    assert len(tested) == 1


def test_a_fitted_classifier_is_tested_only_where_a_feature_tells_who_decides(cases):
    table = np.column_stack([cases.X, cases.maker])
    data = sl.SelectiveLabels.from_arrays(table, cases.data.y, decision_maker=cases.maker)
    with_id = LogisticRegression().fit(np.column_stack([cases.X, cases.habit]), cases.y_true)
    with_id.coef_[0, -1] = 3.0

    class OfTheId:
        classes_ = np.array([0, 1])

        def predict(self, X):
            habit = np.array([cases.habit[cases.maker == each][0] for each in range(6)])
            return with_id.predict(np.column_stack([X[:, :3], habit[X[:, 3].astype(int)]]))

    class OfTheRest(OfTheId):
        def predict(self, X):
            return (X[:, 0] > 0).astype(int)

    with pytest.raises(
        sl.InputError, match=r"other than 'x3', which tell who decides, .* depend on who decided"
    ):
        sl.evaluate(OfTheId(), data, **QUICK)
    cautions = sl.evaluate(OfTheRest(), data, **QUICK).sample.cautions
    assert not any("predictions" in each for each in cautions)  # though there is one about the id


class TestWeakInstrument:
    """Decisions hardly depend on who decides, and their copies pass the test of balance."""

    def doubts(self, cases, values):
        check = PredictionCheck(cases.data, None, 0)
        return check.doubts(read_predictions(values, cases.data), "the classifier")

    def test_copies_are_refused(self):
        cases = Cases(spread=0.0)
        with pytest.raises(sl.InputError, match=r"repeat the decisions \(in 100.0% of the cases\)"):
            self.doubts(cases, cases.accepted.astype(int))
        nearly = (~cases.accepted).astype(int)
        nearly[::100] = 1 - nearly[::100]
        with pytest.raises(sl.InputError, match=r"repeat the decisions \(in 99.0% of the cases\)"):
            self.doubts(cases, nearly)

    def test_a_score_filled_where_nobody_accepted_is_refused(self):
        cases = Cases(spread=0.0)
        with pytest.raises(sl.InputError, match="constant where nobody accepted"):
            self.doubts(cases, np.where(cases.accepted, cases.X[:, 0], 9.0))

    def test_constant_rules_and_rules_that_people_follow_pass(self):
        cases = Cases(spread=0.0)
        assert self.doubts(cases, np.ones(2500)) == ()
        cases.accepted = cases.X[:, 0] < 1.0  # decisions by a rule that features give away
        assert self.doubts(cases, (cases.X[:, 0] >= 1.0).astype(int)) == ()
        assert self.doubts(cases, (cases.X[:, 0] < 0.5).astype(int)) == ()

    def test_nearly_everybody_accepted(self):
        """A rule that flags few agrees with most decisions by chance."""
        cases = Cases(spread=0.0)
        cases.accepted = np.random.default_rng(3).random(2500) < 0.99
        assert self.doubts(cases, (cases.X[:, 1] > 2.3).astype(int)) == ()


def test_the_default_level_of_a_refusal_is_one_in_ten_thousand():
    assert REFUSED == 1e-4


@pytest.fixture(scope="module")
def shifts(cases):
    """Periods in which decision-makers work, by what they are, and periods of a lottery."""
    rng = np.random.default_rng(5)
    return np.where(rng.random(2500) < 0.8, cases.maker // 3, 1 - cases.maker // 3), rng.integers(0, 2, 2500)


@pytest.mark.parametrize("call", ["evaluate", "drift"])
def test_subgroups_with_a_staff_of_their_own_are_doubtful(cases, evaluator, shifts, call):
    def cautions(by):
        if call == "drift":
            return evaluator.drift(cases.mine, period=by).evaluations[0].sample.cautions
        return evaluator.evaluate(cases.mine, by=by)[0].sample.cautions

    by_staff, by_lot = shifts
    (caution,) = cautions(by_staff)
    assert "doubtful" in caution
    assert "strata" in caution
    assert cautions(by_lot) == ()  # p < .01 once in a hundred
    assert cautions((cases.X[:, 0] > 0).astype(int)) == ()  # a function of the features


def test_subgroups_given_as_strata_are_not_doubtful(cases, shifts):
    y = np.where(cases.accepted, cases.y_true, -1)
    data = sl.SelectiveLabels.from_arrays(cases.X, y, decision_maker=cases.maker, strata=shifts[0])
    (first, _) = sl.evaluate(cases.mine, data, by=shifts[0], **QUICK)
    assert first.sample.cautions == ()


def test_subgroups_of_a_table_in_partitions_are_checked_on_its_sampled_rows(tmp_path, cases, shifts):
    frame = pd.DataFrame(cases.X, columns=["a", "b", "c"]).assign(
        who=cases.maker, yes=cases.accepted.astype(int), y=cases.y_true, guess=cases.mine, shift=shifts[0]
    )
    frame.loc[frame["yes"] == 0, "y"] = np.nan
    frame.to_parquet(tmp_path / "part.parquet")
    lazy = sl.SelectiveLabels.from_parquet(
        tmp_path, label="y", decision="yes", decision_maker="who", features=["a", "b", "c"]
    )
    found = sl.evaluate("guess", lazy, by="shift", **{**QUICK, "cv": 3})
    assert "Results by subgroup are doubtful" in found[0].sample.cautions[0]
