"""Extrapolation to leniency one: against plain regressions, and where its own assumption holds."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import t

from selective_labels import extrapolate
from selective_labels.identification.marginal_outcomes import adjusted_means, coherent, value_at_one

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


def draw(seed, n_samples=20_000, n_makers=20, n_classes=2, largest=0.95, curved=0.0):
    """Decision-makers rank cases alike: accepted if V <= leniency, and P(Y*=k | V=v) is linear (or not) in v.

    With P(Y*=k | V=v) = a_k + 2 b_k v (+ 3 c v²), accepted cases have mean a_k + b_k λ (+ c λ²).
    """
    rng = np.random.default_rng(seed)
    maker = rng.integers(n_makers, size=n_samples)
    leniency = np.linspace(0.3, largest, n_makers)[maker]
    v = rng.random(n_samples)
    slope = np.linspace(-1, 1, n_classes) / n_classes
    chances = 1 / n_classes + slope * (v[:, None] - 0.5)
    chances[:, 0] -= curved * (v**2 - 1 / 3)
    chances[:, -1] += curved * (v**2 - 1 / 3)
    y_true = (rng.random(n_samples)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    right = rng.random(n_samples) < 0.6
    prediction = np.where(right, y_true, rng.integers(n_classes, size=n_samples))
    decision = (v <= leniency).astype(int)
    return prediction, np.where(decision == 1, y_true, -1), maker, decision, y_true


def truths(prediction, y_true, label):
    positive, said = y_true == label, prediction == label
    return {
        "share": positive.mean(),
        "tpr": said[positive].mean(),
        "fpr": said[~positive].mean(),
        "accuracy": np.mean(prediction == y_true),
    }


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["linear", "local"])
def test_consistent_where_decision_makers_rank_alike_and_means_are_linear(n_classes, form):
    prediction, y, maker, _, y_true = draw(0, n_classes=n_classes)
    result = extrapolate(prediction, y, decision_maker=maker, form=form, n_draws=60, random_state=0)
    for label in range(n_classes):
        for metric, truth in truths(prediction, y_true, label).items():
            value = result.value(metric, label)
            error = (value.ci_upper - value.ci_lower) / 2 / 1.96
            assert abs(value.estimate - truth) < LIMIT * error, (metric, label)


def test_selected_cases_are_off_where_extrapolation_is_right():
    prediction, y, maker, _, y_true = draw(1)
    result = extrapolate(prediction, y, decision_maker=maker, random_state=0)
    selected = np.mean(y[y >= 0] == 1)
    error = np.sqrt(0.25 / np.sum(y >= 0))
    assert abs(selected - np.mean(y_true == 1)) > 2 * LIMIT * error  # accepted cases are not like everybody
    assert result.share.ci_lower < np.mean(y_true == 1) < result.share.ci_upper


def test_the_form_matters_and_the_right_one_is_right():
    prediction, y, maker, _, y_true = draw(2, n_samples=60_000, largest=0.65, curved=0.45)
    linear, quadratic = (
        extrapolate(prediction, y, decision_maker=maker, form=form, n_draws=40, random_state=0)
        for form in ("linear", "quadratic")
    )
    truth = np.mean(y_true == 1)
    assert not linear.share.ci_lower < truth < linear.share.ci_upper
    assert quadratic.share.ci_lower < truth < quadratic.share.ci_upper
    assert_allclose(
        linear.by_form["quadratic"], quadratic.table["estimate"]
    )  # each shows the others' answers
    assert quadratic.max_leniency < 0.7


def test_coverage_with_few_and_with_scattered_decision_makers():
    covered, n_repeats = 0, 60
    for seed in range(n_repeats):
        rng = np.random.default_rng(1000 + seed)
        n_makers, n_samples = 12, 1500
        maker = rng.integers(n_makers, size=n_samples)
        leniency = np.linspace(0.3, 0.9, n_makers)[maker]
        # Means of decision-makers scatter about the line, as they do in life.
        scatter = 0.05 * rng.standard_normal(n_makers)[maker]
        y = np.where(rng.random(n_samples) < leniency, rng.random(n_samples) < 0.4 + scatter, -1).astype(int)
        result = extrapolate(np.ones(n_samples, int), y, decision_maker=maker, n_draws=40, random_state=0)
        covered += result.share.ci_lower < 0.4 < result.share.ci_upper
    assert covered / n_repeats > 0.95 - LIMIT * np.sqrt(0.95 * 0.05 / n_repeats)


def test_scattered_decision_makers_get_the_quantiles_of_few_clusters():
    """Where decision-makers scatter, they are the clusters: with the level, intervals grow as t does."""
    rng = np.random.default_rng(5)
    maker = rng.integers(6, size=1200)
    seen = rng.random(1200) < np.linspace(0.3, 0.9, 6)[maker]
    y = np.where(seen, rng.random(1200) < np.array([0.3, 0.7, 0.4, 0.6, 0.35, 0.65])[maker], -1).astype(int)
    narrow, wide = (
        extrapolate(np.ones(1200, int), y, decision_maker=maker, confidence_level=level, random_state=0).share
        for level in (0.6, 0.8)
    )
    assert 0.0 < wide.ci_lower < wide.ci_upper < 1.0, "a cut interval would say nothing"
    ratio = (wide.ci_upper - wide.ci_lower) / (narrow.ci_upper - narrow.ci_lower)
    assert_allclose(ratio, t.ppf(0.9, 5) / t.ppf(0.8, 5), rtol=1e-9)


def test_fully_labeled_cases_give_the_sample_values():
    prediction, _, maker, _, y_true = draw(3, n_samples=500, n_makers=3)
    lenient = np.where(maker == 2, True, np.random.default_rng(0).random(500) < 0.5)
    y = np.where(lenient, y_true, -1)
    result = extrapolate(prediction, y, decision_maker=maker, n_draws=10)
    assert result.max_leniency == 1.0
    table = result.to_frame()
    shares = table[table["metric"] == "share"]
    assert_allclose(shares["estimate"].sum(), 1.0)  # coherent shares


def test_rates_are_one_joint_law():
    prediction, y, maker, _, _ = draw(4, n_samples=1000, n_classes=3, largest=0.5)
    result = extrapolate(prediction, y, decision_maker=maker, form="quadratic", n_draws=10)
    share = np.array([result.value("share", k).estimate for k in range(3)])
    tpr = np.array([result.value("tpr", k).estimate for k in range(3)])
    fpr = np.array([result.value("fpr", k).estimate for k in range(3)])
    predicted = np.bincount(prediction) / len(prediction)
    known = share > 0
    assert_allclose(share.sum(), 1.0)
    assert_allclose((share * tpr + (1 - share) * fpr)[known], predicted[known])  # P(t=k), which is known
    assert_allclose(np.nansum(share * tpr), result.accuracy.estimate)
    estimates = result.table["estimate"].dropna()  # a rate among nobody is NaN
    assert ((estimates >= 0) & (estimates <= 1)).all()


def test_coherent_is_the_nearest_joint_law():
    rng = np.random.default_rng(0)
    for _ in range(5):
        joint, predicted = rng.normal(0.2, 0.3, (3, 3)), rng.dirichlet(np.ones(3))
        ours = coherent(joint, predicted)
        assert_allclose(ours.sum(axis=0), predicted)
        assert (ours >= 0).all()
        solved = minimize(
            lambda law, joint=joint: np.sum((law - joint.ravel()) ** 2),
            np.outer(np.ones(3) / 3, predicted).ravel(),
            jac=lambda law, joint=joint: 2 * (law - joint.ravel()),
            bounds=[(0, None)] * 9,
            constraints={
                "type": "eq",
                "fun": lambda law, predicted=predicted: law.reshape(3, 3).sum(axis=0) - predicted,
            },
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert_allclose(ours.ravel(), solved.x, atol=1e-6)


def test_adjusted_means_equal_a_regression_on_indicators():
    rng = np.random.default_rng(0)
    n_rows, n_codes, n_cells = 400, 6, 5
    code, cells = rng.integers(n_codes, size=n_rows), rng.integers(n_cells, size=n_rows)
    values, weight = rng.random((n_rows, 2)), rng.random(n_rows) + 0.5
    shares = rng.dirichlet(np.ones(n_cells))
    means, precision = adjusted_means(values, code, cells, weight, shares)
    design = np.hstack([np.eye(n_codes)[code], np.eye(n_cells)[cells]])
    root = np.sqrt(weight)[:, None]
    beta = np.linalg.lstsq(root * design, root * values, rcond=None)[0]
    assert_allclose(means, beta[:n_codes] + shares @ beta[n_codes:], atol=1e-10)
    # Precision of a code: its weighted residual sum of squares on cells alone.
    indicators = np.eye(n_codes)[code]
    on_cells = np.eye(n_cells)[cells]
    residual = indicators - on_cells @ np.linalg.lstsq(root * on_cells, root * indicators, rcond=None)[0]
    assert_allclose(precision, (weight[:, None] * residual**2).sum(axis=0), atol=1e-10)


@pytest.mark.parametrize("form", ["linear", "quadratic", "local"])
def test_value_at_one_equals_weighted_polynomials(form):
    rng = np.random.default_rng(0)
    leniency, mean, precision = rng.random(9) * 0.8, rng.random(9), rng.random(9) + 0.1
    weight = precision
    if form == "local":
        weight = precision * np.maximum(0, 1 - (1 - leniency) / 0.9)
    fitted = np.polyfit(leniency, mean, 2 if form == "quadratic" else 1, w=np.sqrt(weight))
    ours = value_at_one(leniency, mean[:, None], precision, form, bandwidth=0.9)
    assert_allclose(ours, np.polyval(fitted, 1.0))


def test_the_local_form_looks_twice_as_far_as_the_median_decision_maker():
    leniency, mean = np.array([0.1, 0.5, 0.6, 0.7, 0.9]), np.array([9.0, 0.2, 0.4, 0.1, 0.3])
    by_default = value_at_one(leniency, mean[:, None], np.ones(5), "local")
    # The median distance from one is 0.4, so that the first decision-maker, at 0.9, does not count.
    assert_allclose(
        by_default, value_at_one(leniency[1:], mean[1:, None], np.ones(4), "local", bandwidth=0.8)
    )


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_decision_makers_who_hardly_differ_are_too_alike_at_any_precision(scale):
    means, precision = np.array([[0.1], [0.4], [0.2]]), scale * np.array([1.0, 2.0, 1e-9])
    near, far = 0.5 + np.array([0.0, 1e-8, 2e-8]), 0.5 + np.array([0.0, 1e-3, 2e-3])
    with pytest.raises(ValueError, match="do not differ enough"):
        value_at_one(near, means, precision, "linear")
    assert np.isfinite(value_at_one(far, means, precision, "linear")).all()


def test_strata_are_adjusted_for():
    # In stratum 1 cases are riskier and go more often to lenient decision-makers: unadjusted, a steep line.
    rng = np.random.default_rng(0)
    n_samples, n_makers = 40_000, 10
    stratum = rng.integers(2, size=n_samples)
    up = np.arange(1, n_makers + 1)
    maker = np.where(
        stratum == 1,
        rng.choice(n_makers, n_samples, p=up / up.sum()),
        rng.choice(n_makers, n_samples, p=up[::-1] / up.sum()),
    )
    decision = rng.random(n_samples) < 0.3 + 0.06 * maker
    y = np.where(decision, rng.random(n_samples) < 0.2 + 0.5 * stratum, -1).astype(int)
    truth = 0.2 + 0.5 * stratum.mean()
    said = np.ones(n_samples, dtype=int)
    plain = extrapolate(said, y, decision_maker=maker, n_draws=50, random_state=0)
    adjusted = extrapolate(said, y, decision_maker=maker, strata=stratum, n_draws=50, random_state=0)
    assert adjusted.share.ci_lower < truth < adjusted.share.ci_upper
    assert plain.share.ci_lower > truth


def test_probabilities_are_lotteries_over_predictions():
    prediction, y, maker, _, _ = draw(5, n_samples=2000, n_classes=3)
    hard = extrapolate(prediction, y, decision_maker=maker, n_draws=5, random_state=0)
    same = extrapolate(np.eye(3)[prediction], y, decision_maker=maker, n_draws=5, random_state=0)
    assert_array_equal(hard.table["estimate"], same.table["estimate"])


def test_unseen_labels_are_never_read():
    prediction, y, maker, decision, _ = draw(6, n_samples=2000)
    garbage = np.random.default_rng(1).integers(-1, 9, len(y))
    results = [
        extrapolate(prediction, labels, decision_maker=maker, decision=decision, n_draws=5, random_state=0)
        for labels in (y, np.where(decision == 1, y, garbage))
    ]
    assert_array_equal(results[0].table["ci_lower"], results[1].table["ci_lower"])


def test_it_states_assumption_and_reach_and_draws_itself():
    prediction, y, maker, _, _ = draw(7, n_samples=2000, largest=0.7)
    result = extrapolate(prediction, y, decision_maker=maker, n_draws=5, random_state=0)
    text = str(result)
    for part in ("linear function of the decision-maker's leniency", "2000 cases of 20 decision-makers"):
        assert part in text
    assert f"accepts {result.max_leniency:.3g}" in text
    assert json.loads(result.to_json())["table"][0]["metric"] == "share"
    axes = result.plot(Figure().subplots())
    assert len(axes.lines[0].get_xdata()) == 20  # one point a decision-maker


def test_a_decision_maker_who_accepted_nobody_is_left_out():
    prediction, y, maker, _, _ = draw(8, n_samples=2000)
    y = np.where(maker == 0, -1, y)
    result = extrapolate(prediction, y, decision_maker=maker, n_draws=5)
    assert len(result.leniency) == 19
    assert 0 not in result.decision_makers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "cubic"}, "form='cubic' is not one of 'linear', 'quadratic', 'local'"),
        ({"form": "local", "bandwidth": 0.0}, "bandwidth=0.0 must be positive"),
        ({"decision_maker": np.zeros(300)}, "needs 2 decision-makers of different leniency"),
        ({"decision_maker": np.arange(300) % 2, "form": "quadratic"}, "needs 3 decision-makers"),
        (
            {"predictions": np.full(300, 9)},
            "predictions: 9 is predicted in 300 rows and is not one of the classes",
        ),
        ({"predictions": np.full((300, 2), 0.6)}, "sum to one"),
        ({"pos_label": "x"}, "pos_label='x' is not among the labels"),
        ({"y": np.full(300, -1)}, "no label at all"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, message):
    prediction, y, maker, _, _ = draw(0, n_samples=300)
    arguments = {"predictions": prediction, "y": y, "decision_maker": maker, "n_draws": 5} | change
    with pytest.raises(ValueError, match=message):
        extrapolate(**arguments)


def test_strata_without_common_decision_makers_are_refused():
    prediction, y, maker, _, _ = draw(0, n_samples=2000)
    with pytest.raises(ValueError, match="into 2 sets that share no stratum"):
        extrapolate(prediction, y, decision_maker=maker, strata=maker % 2, n_draws=5)


def test_few_cases_of_each_do_not_draw_the_slope_to_zero():
    """Sixty decision-makers with 40 cases each: a third of the variance of their rates is noise.

    Means over 60 samples; the regression on the rates themselves misses the truth by more than five errors.
    """
    misses, naive, covered, n_repeats = [], [], 0, 60
    for seed in range(n_repeats):
        rng = np.random.default_rng(seed)
        maker = np.repeat(np.arange(60), 40)
        v, leniency = rng.random(2400), rng.uniform(0.3, 0.7, 60)[maker]
        y_true = (rng.random(2400) < 0.1 + 0.6 * v).astype(int)
        y = np.where(v <= leniency, y_true, -1)
        result = extrapolate(np.ones(2400, int), y, decision_maker=maker, n_draws=30, random_state=0)
        misses.append(result.share.estimate - 0.4)
        raw = value_at_one(result.leniency, result.means, np.bincount(maker[y >= 0]), "linear")[1]
        naive.append(raw - 0.4)
        covered += not (result.share.ci_lower > 0.4 or result.share.ci_upper < 0.4)
    error = np.std(misses) / np.sqrt(n_repeats)
    assert abs(np.mean(misses)) < LIMIT * error
    assert np.mean(naive) < -LIMIT * np.std(naive) / np.sqrt(n_repeats)
    assert covered / n_repeats > 0.95 - LIMIT * np.sqrt(0.95 * 0.05 / n_repeats)


def test_rates_that_are_mostly_noise_get_no_interval():
    """Five cases each: the result gives the reliability, refuses the interval and says so."""
    rng = np.random.default_rng(0)
    maker = np.repeat(np.arange(80), 5)
    y = np.where(rng.random(400) < 0.5, rng.integers(2, size=400), -1)
    result = extrapolate(np.ones(400, int), y, decision_maker=maker, n_draws=10, random_state=0)
    assert result.reliability < 0.6
    assert np.isnan([result.share.ci_lower, result.share.ci_upper]).all()
    assert "there is no interval" in str(result)
    many = np.repeat(np.arange(4), 2000)
    y = np.where(rng.random(8000) < np.linspace(0.3, 0.9, 4)[many], rng.integers(2, size=8000), -1)
    result = extrapolate(np.ones(8000, int), y, decision_maker=many, n_draws=10, random_state=0)
    assert result.reliability > 0.99
    assert "100% of its variance is not noise" in str(result)
