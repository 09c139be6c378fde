"""Extrapolation of a classifier's metrics to a decision-maker who accepts every case."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from selective_labels._display import Described, new_axes
from selective_labels._errors import InputError, UndefinedError
from selective_labels._validation import as_seed, require_choice, require_count, require_share
from selective_labels.data.reading import read_labels
from selective_labels.data.roles import GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.predictions import read_predictions
from selective_labels.identification.marginal_outcomes import (
    adjusted_means,
    coherent,
    expected_leniency,
    value_at_one,
)
from selective_labels.inference.evidence import bootstrap_covariance
from selective_labels.inference.standard_errors import few_clusters_factor

FORMS = ("linear", "quadratic", "local")
# There is no interval if the reliability of the measured leniency is lower.
LEAST_RELIABILITY = 0.6


class Value(NamedTuple):
    """An estimate with its confidence interval."""

    estimate: float
    ci_lower: float
    ci_upper: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Extrapolation(Described):
    """Metrics of a classifier on all cases, extrapolated over the leniency of decision-makers.

    Attributes
    ----------
    table : frame
        Columns metric ("share", "tpr", "fpr", "accuracy"), label, estimate, ci_lower, ci_upper.
    by_form : frame
        The same metrics with one column per functional form.
    leniency : (n_decision_makers,) array
        Acceptance rate, adjusted for strata, of the decision-makers who accepted any case.
    means : (n_decision_makers, n_classes) array
        Share of each class among accepted cases, adjusted for strata.
    reliability : float
        Share of the variance of measured leniency that is not sampling error.
    """

    table: pd.DataFrame
    by_form: pd.DataFrame
    form: str
    pos_label: Any
    leniency: np.ndarray
    means: np.ndarray
    classes: np.ndarray
    decision_makers: np.ndarray
    n_samples: int
    confidence_level: float
    reliability: float

    title = "Extrapolation to leniency one"
    identifies = "shares, rates and accuracy of the classifier in the whole population, by functional form."

    @property
    def assumption(self) -> str:
        """The assumption in words."""
        function = {"local": "a smooth, near one linear"}.get(self.form, f"a {self.form}")
        return (
            "cases are assigned as if by lot (within strata), and the share of each class among accepted "
            f"cases is {function} function of the decision-maker's leniency, all the way to one."
        )

    @property
    def max_leniency(self) -> float:
        """Largest acceptance rate; the extrapolation runs from there to one."""
        return float(self.leniency.max())

    def value(self, metric: str, label: Any = None) -> Value:
        """Return one metric, for `pos_label` unless another label is given."""
        rows = self.table[self.table["metric"] == metric]
        if metric != "accuracy":
            wanted = self.pos_label if label is None else label
            rows = rows[[each == wanted for each in rows["label"]]]
        if len(rows) == 0:
            raise InputError(f"there is no metric {metric!r} of label {label!r}.", "metric")
        return Value(*(float(rows[name].iloc[0]) for name in Value._fields))

    @property
    def share(self) -> Value:
        """P(Y* = pos_label)."""
        return self.value("share")

    @property
    def tpr(self) -> Value:
        """P(t = pos_label | Y* = pos_label)."""
        return self.value("tpr")

    @property
    def fpr(self) -> Value:
        """P(t = pos_label | Y* is another class)."""
        return self.value("fpr")

    @property
    def accuracy(self) -> Value:
        """P(t = Y*)."""
        return self.value("accuracy")

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per metric and label, including the estimates of the other forms."""
        return pd.concat([self.table, self.by_form], axis=1)

    def sentences(self) -> list[str]:
        """Describe the assumption, the identified quantities and the sample."""
        return [
            f"Assumption: {self.assumption}",
            f"Identifies: {self.identifies}",
            f"Sample: {self.n_samples} cases of {len(self.leniency)} decision-makers; each "
            f"{self.confidence_level:.0%} interval covers the value if the form is right.",
            self._reliability_sentence(),
            f"The most lenient decision-maker accepts {self.max_leniency:.3g}; the rest is extrapolated, and "
            "columns named after the other forms show how much that matters.",
        ]

    def _reliability_sentence(self) -> str:
        measured = (
            f"Leniency is measured: {self.reliability:.0%} of its variance is not noise of few cases, and "
            "the slope is corrected for the rest"
        )
        if self.reliability >= LEAST_RELIABILITY:
            return f"{measured}."
        return (
            f"{measured}; below {LEAST_RELIABILITY:.0%} no correction is to be relied on, and there is no "
            "interval. Give more cases for each decision-maker."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of `pos_label` among accepted cases by leniency, and its value at leniency one."""
        ax = new_axes() if ax is None else ax
        code = self.classes.tolist().index(self.pos_label)
        ax.plot(self.leniency, self.means[:, code], "o", label="decision-makers")
        share = self.share
        reach = np.abs(np.array([[share.ci_lower], [share.ci_upper]]) - share.estimate)
        ax.errorbar(
            [1.0], [share.estimate], np.nan_to_num(reach), fmt="s", label=f"extrapolated ({self.form})"
        )
        ax.set(xlabel="leniency", ylabel=f"share of {self.pos_label} among accepted cases")
        ax.set_title(self.assumption, fontsize="small", wrap=True)
        ax.legend()
        return ax


def extrapolate(
    predictions: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    strata: Any = None,
    form: str = "linear",
    bandwidth: float | None = None,
    pos_label: Any = None,
    n_draws: int = 200,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> Extrapolation:
    """Extrapolate metrics to all cases, as in Arnold, Dobbie and Hull (2021, 2022).

    1. Leniency λ_j: the acceptance rate of decision-maker j, from a regression of the decision on
       decision-makers and strata, at the strata of all cases.
    2. Among accepted cases, in the same way, the means of 1{Y=k} 1{t=a} of every decision-maker, for all
       classes k and predictions a.
    3. Weighted least squares of these means on λ_j, with weights equal to the inverse variance of a mean (the
       effective cases net of strata), evaluated at λ = 1: the estimate of ω_ka = P(Y*=k, t=a).
    4. For every a, ``ω_·a`` is projected on {ω >= 0, Σ_k ω_ka = P(t=a)}, which is known. Then
       share_k = Σ_a ω_ka, tpr_k = ω_kk / share_k, fpr_k = (P(t=k) - ω_kk) / (1 - share_k), and accuracy is
       Σ_k ω_kk.

    Assumptions: assignment is as good as random within strata, and the means are a function of leniency of
    the chosen form up to one. If decision-makers rank cases alike (monotonicity),
    P(Y=k, D=1 | λ) = λ (a + b λ) for the linear form. This is not NUCEM: under NUCEM the same line leads to
    η_k + κ_k, not to η_k (methods 3.1). Without the functional form only bounds are identified. The form
    matters less the closer the most lenient decision-maker is to one.

    The standard error is the larger of two bootstraps: of rows (sampling of cases), and of decision-makers
    with all their cases (deviations from the curve), the latter widened for few decision-makers. Leniency is
    measured with error, which attenuates the slope. The regression therefore uses the expected leniency given
    the measured one (`expected_leniency` of identification). The result reports the reliability of the
    measured rates; if more than .4 of their variance is noise, there is no interval.

    Parameters
    ----------
    predictions : (n_samples,) labels or (n_samples, n_classes) probabilities of predicting each class
        Predictions of a classifier that was fitted to other cases.
    y : SelectiveLabels, or (n_samples,) labels, missing where not observed
        A SelectiveLabels carries the roles; give no other role with it. Weights and groups are not used.
    decision_maker : (n_samples,) ids
    decision : (n_samples,) of 0 and 1, optional
    strata : (n_samples,) of any type, optional
        Strata within which assignment is random.
    form : "linear", "quadratic" or "local"
        "local": a line with triangular weights max(0, 1 - (1 - λ_j) / bandwidth).
    bandwidth : float, optional
        Default: twice the median distance of decision-makers from leniency one.
    pos_label : label, optional
        The class of ``result.tpr`` and the other rates. Default: the last class.
    n_draws : int
        Number of draws of each bootstrap.
    confidence_level : float
    random_state : int, optional

    Returns
    -------
    Extrapolation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> maker, risk = rng.integers(8, size=8000), rng.random(8000)
    >>> y_true = (rng.random(8000) < 0.4).astype(int)
    >>> y = np.where(rng.random(8000) < 0.3 + 0.08 * maker, y_true, -1)
    >>> result = extrapolate((risk > 0.5).astype(int), y, decision_maker=maker, random_state=0)
    >>> result.share.ci_lower < 0.4 < result.share.ci_upper, result.tpr.ci_lower < 0.5 < result.tpr.ci_upper
    (True, True)
    """
    require_choice("form", form, FORMS)
    require_count("n_draws", n_draws, least=2)
    require_share("confidence_level", confidence_level, low=0.5)
    if bandwidth is not None and not bandwidth > 0.0:
        raise InputError(f"bandwidth={bandwidth!r} must be positive.", "bandwidth")
    data = read_labels(y, GivenRoles(decision_maker, decision, strata=strata), "extrapolate", ["strata"])
    if not data.decision_makers_given:
        raise InputError(
            "decision_maker is missing: leniency is extrapolated over decision-makers.", "decision_maker"
        )
    label = data.classes[class_code(pos_label, data.classes)]
    problem = _Problem(data, read_predictions(predictions, data, "predictions").chosen, bandwidth)
    problem.check(form)
    ones = np.ones(len(data))
    estimate = problem.metrics(ones, form)
    error = problem.errors(form, n_draws, confidence_level, as_seed(random_state))
    reliability = problem.reliability()
    known = 1.0 if reliability >= LEAST_RELIABILITY else np.nan
    reach = known * ndtri((1.0 + confidence_level) / 2.0) * error
    names = ["share", "tpr", "fpr"]
    labels = data.classes.tolist()
    table = pd.DataFrame(
        {
            "metric": [name for name in names for _ in labels] + ["accuracy"],
            "label": labels * len(names) + [""],
            "estimate": estimate,
            "ci_lower": np.clip(estimate - reach, 0.0, 1.0),
            "ci_upper": np.clip(estimate + reach, 0.0, 1.0),
        }
    )
    leniency, means, _ = problem.points(ones)
    return Extrapolation(
        table=table,
        by_form=pd.DataFrame({each: problem.metrics_or_nan(ones, each) for each in FORMS}),
        form=form,
        pos_label=label,
        leniency=leniency,
        means=means.sum(axis=2),
        classes=data.classes,
        decision_makers=data.decision_makers[problem.kept],
        n_samples=len(data),
        confidence_level=confidence_level,
        reliability=reliability,
    )


class _Problem:
    """The estimation problem, set up to be solved repeatedly with different row weights."""

    def __init__(self, data: SelectiveLabels, prediction: np.ndarray, bandwidth: float | None) -> None:
        self.bandwidth = bandwidth
        self.n_classes = len(data.classes)
        self.decision = data.decision.astype(float)[:, None]
        self.prediction = prediction
        cells = data.cells
        # A decision-maker who accepted nobody has no mean, and a stratum without labels no estimable effect.
        self.labeled = data.decision == 1
        self.kept = np.unique(data.decision_maker_codes[self.labeled])
        with_label = np.unique(cells[self.labeled])
        self.rows = np.isin(data.decision_maker_codes, self.kept) & np.isin(cells, with_label)
        self.code = np.searchsorted(self.kept, data.decision_maker_codes)
        self.cells = np.searchsorted(with_label, cells)
        self.clusters = data.decision_maker_codes
        seen = data.y[self.labeled, None] == np.arange(self.n_classes)
        self.events = (seen[:, :, None] * prediction[self.labeled, None, :]).reshape(len(seen), -1)
        self.cases = np.bincount(self.code[self.rows], minlength=len(self.kept)).astype(float)

    def check(self, form: str) -> None:
        """Raise an error if the data do not identify the extrapolation."""
        if len(self.kept) < 2:
            raise InputError("extrapolate needs 2 decision-makers of different leniency.", "decision_maker")
        n_codes, n_cells = len(self.kept), self.cells[self.rows].max() + 1
        nodes = self.code[self.labeled], self.cells[self.labeled] + n_codes
        links = coo_array((np.ones(self.labeled.sum()), nodes), shape=(n_codes + n_cells,) * 2)
        n_parts, _ = connected_components(links, directed=False)
        if n_parts > 1:
            raise InputError(
                f"strata cut the decision-makers into {n_parts} sets that share no stratum; "
                "leniency can be compared only within one of them.",
                "strata",
            )
        self.metrics(np.ones(len(self.code)), form)

    def points(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return leniency (J,), means of events (J, K, K) and precision (J,)."""
        rows, labeled = self.rows, self.labeled
        shares = np.bincount(self.cells[rows], weight[rows])
        shares = shares / shares.sum()
        leniency, _ = adjusted_means(
            self.decision[rows], self.code[rows], self.cells[rows], weight[rows], shares
        )
        means, precision = adjusted_means(
            self.events, self.code[labeled], self.cells[labeled], weight[labeled], shares
        )
        return leniency[:, 0], means.reshape(len(means), self.n_classes, -1), precision

    def reliability(self) -> float:
        """Return the share of the variance of measured leniency that is not sampling error."""
        leniency, _, precision = self.points(np.ones(len(self.code)))
        return expected_leniency(leniency, self.cases, precision)[1]

    def metrics(self, weight: np.ndarray, form: str) -> np.ndarray:
        """Return shares, true and false positive rates of all classes, and accuracy: (3 K + 1,)."""
        measured, means, precision = self.points(weight)
        # Reweighting does not change the number of cases from which leniency was measured.
        leniency, _ = expected_leniency(measured, self.cases, precision)
        joint = value_at_one(leniency, means.reshape(len(means), -1), precision, form, self.bandwidth)
        predicted = np.average(self.prediction, axis=0, weights=weight)
        joint = coherent(joint.reshape(self.n_classes, self.n_classes), predicted)
        share, hit = joint.sum(axis=1), np.diag(joint)
        return np.concatenate([share, _ratio(hit, share), _ratio(predicted - hit, 1.0 - share), [hit.sum()]])

    def metrics_or_nan(self, weight: np.ndarray, form: str) -> np.ndarray:
        """Return the metrics; NaN if decision-makers are too few or too similar for the form."""
        try:
            return self.metrics(weight, form)
        except UndefinedError:
            return np.full(3 * self.n_classes + 1, np.nan)

    def errors(
        self, form: str, n_draws: int, confidence_level: float, random_state: int | None
    ) -> np.ndarray:
        """Return the larger standard errors of the two bootstraps."""
        seeds = np.random.SeedSequence(random_state).generate_state(2)
        by_row, by_maker = (
            np.sqrt(
                np.diag(
                    bootstrap_covariance(
                        lambda weight: self.metrics(weight, form),
                        len(self.code),
                        clusters=clusters,
                        n_draws=n_draws,
                        random_state=int(seed),
                    )
                )
            )
            for clusters, seed in zip((None, self.clusters), seeds, strict=True)
        )
        return np.maximum(by_row, few_clusters_factor(len(self.kept), confidence_level) * by_maker)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0.0)
