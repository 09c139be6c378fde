"""Deciders: what each decision-maker does, how sure that is, and whether a score would do better."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from selective_labels._display import Described, new_axes
from selective_labels._errors import InputError, several
from selective_labels._validation import require_choice, the_only
from selective_labels._vocabulary import INSPECT, Vocabulary
from selective_labels.data.reading import refuse_pending
from selective_labels.data.selective_labels import SelectiveLabels, class_code, require_two_classes
from selective_labels.diagnostics.context import case_model
from selective_labels.diagnostics.hypothesis_tests import centred
from selective_labels.evaluation import display
from selective_labels.evaluation.fitted_table import FittedRows
from selective_labels.evaluation.policy import Policy, checked_policy_actions
from selective_labels.evaluation.prediction_check import with_doubts
from selective_labels.evaluation.predictions import EvaluationRequest, read_predictions
from selective_labels.evaluation.results import Sample
from selective_labels.evaluation.scored_rows import ScoredSample, chosen_assumptions
from selective_labels.identification.bounds import Array
from selective_labels.inference.empirical_bayes import (
    Ranks,
    Shrunken,
    common_slope,
    false_discoveries,
    share_below,
)
from selective_labels.inference.evidence import covariance
from selective_labels.inference.standard_errors import cluster_codes
from selective_labels.nuisance.cross_fit import CrossFit

# The variance of a decision-maker with few cases counts this many cases of the average one.
PRIOR_CASES = 10.0
# For ranks it counts this many: an extreme estimate must not look sure because its own cases vary little.
RANK_CASES = 40.0


@dataclass(frozen=True, eq=False)
class DeciderEffects:
    """Observed minus expected, by decision-maker; all arrays of shape (n_decision_makers,) unless stated.

    r_z = mean_z (D - m_D(x)),   f_z = mean_z (D 1{Y = event} - m_F(x)),   s_z = f_z - β r_z

    with m the cross-fitted means of comparable cases over decision-makers. β is the slope of f on r across
    decision-makers, net of sampling error: the failures that each further yes brings. s_z is what leniency
    does not explain.

    Attributes
    ----------
    cases, effective : arrays
        Number of cases, and their effective number (Kish).
    rate, expected_rate : arrays
    yes : array
        Number of yes's.
    failures, expected_failures : arrays
        Share of the event among yes's, and the share that their cases lead one to expect; NaN without a yes.
    failures_error : array
        Standard error of the difference of these two; NaN without a yes.
    leniency, excess : arrays
        r and s.
    covariance : (n_decision_makers, 2, 2) array
        Sampling covariance of r and f.
    slope : float
        β.
    slope_known : bool
        False if decision-makers differ too little in leniency: β is then the share of the event among yes's.
    overall : pair of float
        Means of D and of D 1{Y = event} over all cases.
    """

    cases: np.ndarray
    effective: Array
    rate: Array
    expected_rate: Array
    yes: np.ndarray
    failures: Array
    expected_failures: Array
    failures_error: Array
    leniency: Array
    excess: Array
    covariance: Array
    slope: float
    slope_known: bool
    overall: tuple[float, float]

    @property
    def leniency_error(self) -> Array:
        """Standard error of r."""
        return np.sqrt(self.covariance[:, 0, 0])

    @property
    def excess_error(self) -> Array:
        """Standard error of s, with β as given."""
        return self.error_of(-self.slope)

    def error_of(self, slope: float | Array) -> Array:
        """Standard error of f + slope · r."""
        cov = self.covariance
        variance = cov[:, 1, 1] + 2.0 * slope * cov[:, 0, 1] + slope**2 * cov[:, 0, 0]
        return np.sqrt(np.maximum(variance, 0.0))

    @property
    def adjusted(self) -> tuple[Array, Array]:
        """Rate of a yes, and failures per case, as if each had decided the average case."""
        rate, failures = self.overall
        return np.clip(rate + self.leniency, 0.0, 1.0), failures + self.excess + self.slope * self.leniency


def decider_effects(data: SelectiveLabels, fit: CrossFit, event: int) -> DeciderEffects:
    """Compare decision-makers with what the models of comparable cases expect."""
    rows, number, code = np.arange(len(data)), data.n_decision_makers, data.decision_maker_codes
    model = case_model(fit, data.features, rows, rows)
    decision, failed = data.row_decision.astype(float), (data.y == event).astype(float)
    expected = np.column_stack([model.decision, model.decision * model.label[:, event]])
    residual = np.column_stack([decision, failed]) - expected
    weights = data.weights
    if data.strata is not None:
        residual = centred(residual, data.cells)
    residual = residual - np.average(residual, axis=0, weights=weights)
    total = np.bincount(code, weights, number)

    def mean(values: Array, inside: Array = weights) -> Array:
        size = np.bincount(code, inside, number)
        return np.divide(
            np.bincount(code, inside * values, number), size, out=np.full(number, np.nan), where=size > 0
        )

    effects = np.column_stack([mean(column) for column in residual.T])
    covariance = _covariance(residual - effects[code], weights, code, number, data.groups)
    slope = common_slope(effects[:, 0], effects[:, 1], covariance)
    overall = float(np.average(decision, weights=weights)), float(np.average(failed, weights=weights))
    beta = overall[1] / max(overall[0], np.finfo(float).tiny) if slope is None else slope
    among = weights * decision
    chance = model.label[:, event]
    miss = mean((failed - chance) ** 2, among)
    effective_yes = np.bincount(code, among, number) ** 2 / np.maximum(
        np.bincount(code, among**2, number), np.finfo(float).tiny
    )
    pooled = np.average((failed - chance) ** 2, weights=among)
    spread = (np.nan_to_num(miss) * effective_yes + PRIOR_CASES * pooled) / (effective_yes + PRIOR_CASES)
    return DeciderEffects(
        cases=np.bincount(code, minlength=number),
        effective=total**2 / np.bincount(code, weights**2, number),
        rate=mean(decision),
        expected_rate=mean(model.decision),
        yes=np.bincount(code, decision, number).astype(int),
        failures=mean(failed, among),
        expected_failures=mean(chance, among),
        failures_error=np.sqrt(
            np.divide(spread, effective_yes, out=np.full(number, np.nan), where=effective_yes > 0.0)
        ),
        leniency=effects[:, 0],
        excess=effects[:, 1] - beta * effects[:, 0],
        covariance=covariance,
        slope=float(beta),
        slope_known=slope is not None,
        overall=overall,
    )


def _covariance(
    residual: Array, weights: Array, code: np.ndarray, number: int, groups: np.ndarray | None
) -> Array:
    """Sampling covariance of weighted means by decision-maker, (n_decision_makers, 2, 2).

    V_z = (Σ_{c in z} S_c S_c' + k v N_z) / ((N_z + k - 1) / N_z W_z²),   S_c = Σ_{i in c} w_i e_i

    over the cases or groups c of z, with N_z of them, v the pooled covariance of an S_c, and k prior cases.
    """
    sums, owner = residual * weights[:, None], code
    if groups is not None:
        _, unit = np.unique(np.stack([code, groups]), axis=1, return_inverse=True)
        unit = unit.ravel()
        sums = np.column_stack([np.bincount(unit, column) for column in sums.T])
        owner = np.empty(len(sums), dtype=int)
        owner[unit] = code
    products = np.stack([sums[:, 0] ** 2, sums[:, 0] * sums[:, 1], sums[:, 1] ** 2], axis=1)
    units = np.bincount(owner, minlength=number).astype(float)
    several = np.maximum(units - 1.0, 0.0)
    pooled = products.sum(axis=0) / max(several.sum(), 1.0)
    within = np.stack([np.bincount(owner, column, number) for column in products.T], axis=1)
    per_unit = (within + PRIOR_CASES * pooled) / (several + PRIOR_CASES)[:, None]
    size = np.bincount(code, weights, number)
    found = per_unit * (units / np.maximum(size, np.finfo(float).tiny) ** 2)[:, None]
    return np.asarray(found[:, [0, 1, 1, 2]].reshape(number, 2, 2))


# Rates at which the score is evaluated; between them it is interpolated.
RATES = np.linspace(0.0, 1.0, 41)
# With fewer cases, a decision-maker's row is mostly the average; with fewer decision-makers, the spread
# between them is hardly known.
FEW_CASES, FEW_DECIDERS = 10, 10
FUNNEL, CATERPILLAR = "funnel", "caterpillar"
N_BOOTSTRAP = 500
# Numbers of cases that differ by more than this factor are drawn on a logarithmic axis.
WIDE_RANGE = 10.0
# At most this share of a list of names is wrong on average.
FALSE_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class AgainstScore:
    """Failures per case of the score at each decision-maker's own rate, minus those of the decision-maker.

    Attributes
    ----------
    lower, upper, ci_lower, ci_upper : (n_decision_makers,) arrays
    listed : (n_decision_makers,) bool array
        Names for which the score does better (Benjamini and Hochberg).
    share : pair of float
        Bounds on the share of decision-makers that the score beats.
    share_interval : pair of float
        Its interval, by a bootstrap over decision-makers.
    """

    lower: Array
    upper: Array
    ci_lower: Array
    ci_upper: Array
    listed: np.ndarray
    share: tuple[float, float]
    share_interval: tuple[float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Deciders(Described):
    """One row for each decision-maker: rates, failures and skill, shrunk, ranked and compared with a score.

    Attributes
    ----------
    names : (n_decision_makers,) array
        Ids, or numbers in random order if anonymous.
    effects : DeciderEffects
        What was observed and expected.
    leniency, failures, excess : Shrunken
        Rates of a yes, the share of the event among yes's, and the events per case that leniency does not
        explain, each minus what the cases lead one to expect.
    ranks : Ranks
        By excess, the best first.
    against_score : AgainstScore or None
    pos_label : class label
        The event.
    confidence_level : float
    assumption, sample, vocabulary
        As in other results.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1200, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> found = sl.deciders(data, score=-sample.X[:, 0], nuisance="logistic", random_state=0)
    >>> len(found), bool((found.leniency.lower < found.leniency.upper).all())
    (8, True)
    """

    title = "Decision-makers, against what their cases lead one to expect"

    names: np.ndarray
    effects: DeciderEffects = field(repr=False)
    leniency: Shrunken = field(repr=False)
    failures: Shrunken = field(repr=False)
    excess: Shrunken = field(repr=False)
    ranks: Ranks = field(repr=False)
    against_score: AgainstScore | None
    pos_label: Any
    confidence_level: float
    assumption: str
    sample: Sample
    vocabulary: Vocabulary = field(repr=False)

    def __len__(self) -> int:
        return len(self.names)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per decision-maker, the best by rank first."""
        found = self.effects
        columns: dict[str, Any] = {
            "decision_maker": self.names,
            "n": found.cases,
            "rate": found.rate,
            "expected_rate": found.expected_rate,
            **_columns("leniency", self.leniency),
            "n_yes": found.yes,
            "failures": found.failures,
            "expected_failures": found.expected_failures,
            **_columns("failures_shrunk", self.failures),
            **_columns("excess", self.excess),
            "rank_lower": self.ranks.lower,
            "rank_upper": self.ranks.upper,
            "p_best_tenth": self.ranks.best_tenth,
        }
        if (score := self.against_score) is not None:
            columns |= {
                "score_minus_lower": score.lower,
                "score_minus_upper": score.upper,
                "score_minus_ci_lower": score.ci_lower,
                "score_minus_ci_upper": score.ci_upper,
                "score_better": score.listed,
            }
        frame = pd.DataFrame(columns)
        return frame.iloc[np.argsort(self.order_key, kind="stable")].reset_index(drop=True)

    @property
    def order_key(self) -> Array:
        """Excess, with the sign that puts the best first."""
        return self.excess.value * (-1.0 if self.vocabulary.means == INSPECT else 1.0)

    def printed_frame(self) -> pd.DataFrame:
        """Return what is printed: rates, failures and excess with intervals, and ranks."""
        frame, past = self.to_frame(), self.vocabulary.yes_past
        columns = {
            self.vocabulary.decision_maker: frame["decision_maker"].astype(str),
            self.vocabulary.cases: frame["n"],
            f"{past} (expected)": _pairs(frame["rate"], frame["expected_rate"]),
            f"{self.pos_label} among {past} (expected)": _pairs(
                frame["failures"], frame["expected_failures"]
            ),
            "leniency": _texts(frame, "leniency"),
            "excess": _texts(frame, "excess"),
            "ranks": [
                f"{low}-{high}" for low, high in zip(frame["rank_lower"], frame["rank_upper"], strict=True)
            ],
        }
        if self.against_score is not None:
            ends = (frame[f"score_minus_{each}"] for each in display.ENDS)
            columns["score minus decider"] = [
                f"{low:+.3f} to {high:+.3f} ({left:+.3f} to {right:+.3f})"
                for low, high, left, right in zip(*ends, strict=True)
            ]
        return pd.DataFrame(columns)

    def sentences(self) -> list[str]:
        """State what stands out, how to read the columns, the assumption and the sample."""
        return [
            *display.caution_lines(self.sample),
            *filter(None, [self.sample.assignment]),
            *self._few(),
            *self._of_score(),
            *self._reading(),
            display.assumption_text(self.assumption, self.sample.sentence),
            f"Sample: {display.sample_text(self.sample)} Intervals of leniency and excess are shrunk towards "
            f"the average and cover {self.confidence_level:.0%} of the {self.vocabulary.decision_makers} on "
            "average, whatever the distribution of their effects.",
        ]

    def _reading(self) -> list[str]:
        words, found = self.vocabulary, self.effects
        slope = (
            f"The slope is {found.slope:.2f}, estimated across {words.decision_makers}"
            if found.slope_known
            else f"They differ too little in leniency for a slope, so the share of {self.pos_label} among "
            f"those {words.yes_past} stands in for it ({found.slope:.2f})"
        )
        best = "most" if words.means == INSPECT else "fewest"
        return [
            f"Leniency: share {words.yes_past}, minus what comparable {words.cases} lead one to expect. "
            f"Excess: share of all {words.cases} that were {words.yes_past} and are {self.pos_label}, minus "
            f"the same, and minus what leniency explains. {slope}; it is a straight line, so at extreme "
            f"rates curvature counts as skill. Ranks: {best} first; a set holds the rank with probability "
            f"{self.confidence_level:.2g} if effects are normal.",
            "A row compares decision-makers on comparable cases; it does not say why they differ, and "
            "differences in cases that features do not show count as theirs.",
        ]

    def _few(self) -> list[str]:
        words, said = self.vocabulary, []
        small = int(np.sum(self.effects.cases < FEW_CASES))
        if small:
            said.append(
                f"{small:,} of {len(self):,} {words.decision_makers} have fewer than {FEW_CASES} "
                f"{words.cases}: their rows are mostly the average."
            )
        if len(self) < FEW_DECIDERS:
            said.append(
                f"With {len(self)} {words.decision_makers} the spread between them is uncertain, and so is "
                "every shrunken number."
            )
        return said

    def _of_score(self) -> list[str]:
        if self.against_score is None:
            return []
        found, words = self.against_score, self.vocabulary
        (low, high), (left, right) = found.share, found.share_interval
        listed = int(found.listed.sum())
        return [
            f"At the same rate the score does better than {low:.0%} to {high:.0%} of the "
            f"{words.decision_makers} ({self.confidence_level:.0%} interval {left:.0%} to {right:.0%}). "
            f"{listed if listed else 'None'} of them can be named if at most {FALSE_SHARE:.0%} of the names "
            "may be wrong on average (Benjamini and Hochberg)."
        ]

    def plot(self, kind: str = CATERPILLAR, ax: Any = None) -> Any:
        """Draw a caterpillar or a funnel and return the matplotlib axes.

        Parameters
        ----------
        kind : "caterpillar" or "funnel"
            Shrunken excess with intervals, in order; or raw excess against the number of cases, with the
            limits within which chance alone keeps 95 and 99.8 per cent.
        ax : matplotlib axes, optional
        """
        require_choice("kind", kind, (CATERPILLAR, FUNNEL))
        ax = new_axes() if ax is None else ax
        if kind == CATERPILLAR:
            _caterpillar(self, ax)
        else:
            _funnel(self, ax)
        return ax


def _columns(name: str, found: Shrunken) -> dict[str, Array]:
    return {name: found.value, f"{name}_lower": found.lower, f"{name}_upper": found.upper}


def _pairs(seen: pd.Series, expected: pd.Series) -> list[str]:
    return [
        "" if np.isnan(one) else f"{one:.2f} ({other:.2f})" for one, other in zip(seen, expected, strict=True)
    ]


def _texts(frame: pd.DataFrame, name: str) -> list[str]:
    ends = (frame[each] for each in (name, f"{name}_lower", f"{name}_upper"))
    return [f"{value:+.3f} ({low:+.3f} to {high:+.3f})" for value, low, high in zip(*ends, strict=True)]


def _caterpillar(found: Deciders, ax: Any) -> None:
    order, place = np.argsort(found.order_key, kind="stable"), np.arange(len(found))
    excess = found.excess
    ax.vlines(place, excess.lower[order], excess.upper[order], linewidth=0.8)
    ax.plot(place, excess.value[order], "o", markersize=3)
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set(
        xlabel=f"{found.vocabulary.decision_makers}, best first",
        ylabel=f"excess of {found.pos_label} per case, shrunk",
        title="Caterpillar plot",
    )


def _funnel(found: Deciders, ax: Any) -> None:
    effects = found.effects
    size = effects.effective
    # Limits for the average decision-maker: σ / √n, with σ the root mean square over all.
    unit = float(np.sqrt(np.average(effects.excess_error**2 * size, weights=size)))
    along = np.geomspace(max(size.min(), 1.0), size.max(), 100)
    ax.plot(size, effects.excess, "o", markersize=3)
    for share, style in ((0.95, "--"), (0.998, ":")):
        reach = norm.ppf(0.5 + share / 2.0) * unit / np.sqrt(along)
        for sign in (-1.0, 1.0):
            ax.plot(along, sign * reach, style, color="0.5", linewidth=1)
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set(
        xscale="log" if size.max() > WIDE_RANGE * size.min() else "linear",
        xlabel=f"number of {found.vocabulary.cases}",
        ylabel=f"excess of {found.pos_label} per case",
        title="Funnel plot: 95 % and 99.8 % limits of chance",
    )


def deciders_request(
    fitted: FittedRows, request: EvaluationRequest, score: Any, anonymous: bool, confidence_level: float
) -> Deciders:
    """Compare decision-makers with each other and with a score; input errors come before any fit."""
    data = fitted.table
    require_two_classes(data.classes)
    if not data.decision_makers_given or data.n_decision_makers < 2:
        raise InputError.about("decision_maker", "needs two values or more: there is nobody to compare.")
    total = np.bincount(data.decision_maker_codes, data.weights, data.n_decision_makers)
    if not total.all():
        idle = several([str(each) for each in data.decision_makers[total == 0.0]])
        raise InputError.about(
            "sample_weight", f"is zero in all cases of decision-makers {idle}; leave their rows out."
        )
    if data.panels is not None:
        raise InputError.about("share_labels", "is not possible with deciders: give one row for each case.")
    refuse_pending(data, "deciders")
    if np.bincount(data.decision_maker_codes).max() < 2:
        raise InputError.about(
            "decision_maker", "has one case each: chance and habit cannot be told apart; name who decided."
        )
    if data.decision.all():
        raise InputError.about("decision", "is a yes in every case: decision-makers cannot differ.")
    event = class_code(request.pos_label, data.classes)
    chosen = the_only(
        chosen_assumptions(request.assumption, fitted.has_instrument),
        "assumption",
        "deciders takes one assumption.",
    )
    risk = None
    if score is not None:
        risk = checked_policy_actions(Policy(score), data, event).risk
    sample = fitted.scored(request)
    if score is not None:
        subject = read_predictions(score, data, "score")
        sample = with_doubts(sample, fitted.doubts(data, [chosen], [("score", subject)]))
    effects = decider_effects(data, fitted.fits(data, chosen.needs_halves)[0], event)
    leniency = Shrunken.of(effects.leniency, effects.leniency_error, confidence_level)
    failures = Shrunken.of(
        effects.failures - effects.expected_failures, effects.failures_error, confidence_level
    )
    excess = Shrunken.of(effects.excess, effects.excess_error, confidence_level)
    seed = fitted.fitting.repeated_seeds[0]
    against = None
    if risk is not None:
        against = _against(sample, chosen.name, effects, risk, event, confidence_level, seed)
    names = data.decision_makers
    if anonymous:
        names = np.random.default_rng(seed).permutation(len(names)) + 1
    everyone = np.ones(len(data), dtype=bool)
    return Deciders(
        names=names,
        effects=effects,
        leniency=leniency,
        failures=failures,
        excess=excess,
        ranks=_ranks(effects, data.vocabulary, seed, confidence_level),
        against_score=against,
        pos_label=data.classes.tolist()[event],
        confidence_level=confidence_level,
        assumption=chosen.name,
        sample=_described(sample, chosen.name, everyone),
        vocabulary=data.vocabulary,
    )


def _ranks(effects: DeciderEffects, vocabulary: Vocabulary, seed: int, level: float) -> Ranks:
    """Ranks by excess: the smallest first, or the largest where a yes is meant to find the event.

    Somebody with few cases and no event has both an extreme estimate and a variance that looks small, so
    variances lean on the average one, as if it had been seen in `RANK_CASES` cases.
    """
    size = effects.effective
    per_case = size * effects.excess_error**2
    leaning = (size * per_case + RANK_CASES * np.average(per_case, weights=size)) / (size + RANK_CASES)
    errors = np.sqrt(leaning / size)
    sign = -1.0 if vocabulary.means == INSPECT else 1.0
    return Ranks.of(sign * effects.excess, errors, seed, level)


def _described(sample: ScoredSample, assumption: str, rows: np.ndarray) -> Sample:
    details: Mapping[str, Any] = sample.summary_of(assumption)
    return Sample(
        n=sample.n_cases(rows),
        n_labeled=sample.n_labeled(rows),
        cluster=sample.cluster,
        n_clusters=sample.count_units(rows),
        sentence=sample.assumed(assumption).caption,
        **details,
    )


def _against(
    sample: ScoredSample,
    assumption: str,
    effects: DeciderEffects,
    risk: Array,
    event: int,
    level: float,
    seed: int,
) -> AgainstScore:
    """Bounds on E[1{risk < c_z} 1{Y = event}] - f_z, with c_z such that the score says yes as often as z.

    The first term lies in [E[1{risk < c_z} l(x)], E[1{risk < c_z} u(x)]]. Its rate is that of z on the
    average case, and so are the failures f_z: both are estimated, and their errors are correlated.
    """
    evidence = sample.evidence(sample.repeats[0], assumption)
    if evidence.shares:
        raise InputError(
            "a known share of the event is not possible with score=; leave one out.", "assumption"
        )
    gain = np.zeros((1, evidence.lower.shape[1]))
    gain[0, event] = 1.0
    clusters, weights = cluster_codes(sample.cluster, sample.data), sample.weights
    rate, failures = effects.adjusted
    ends, errors = [], []
    for sign in (-1.0, 1.0):
        value, error = _along_rates(evidence.extreme(sign * gain)[:, event], risk, weights, clusters)
        slope = np.interp(rate, RATES, np.gradient(value, RATES))
        ends.append(np.interp(rate, RATES, value) - failures)
        errors.append(np.hypot(effects.error_of(-slope), np.interp(rate, RATES, error)))
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    reach = norm.ppf(0.5 + level / 2.0)
    listed = false_discoveries(norm.cdf(upper / errors[1]), FALSE_SHARE)
    share, interval = _share_beaten(lower, upper, errors, level, seed)
    return AgainstScore(
        lower, upper, lower - reach * errors[0], upper + reach * errors[1], listed, share, interval
    )


def _along_rates(
    scores: Array, risk: Array, weights: Array, clusters: np.ndarray | None
) -> tuple[Array, Array]:
    """Mean of the scores of the cases with the lowest risk, up to each rate, and its standard error."""
    order = np.argsort(risk, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    reached = np.append(0.0, np.cumsum(weights[order] * scores[order]) / weights.sum())
    value = np.interp(RATES, np.append(0.0, share), reached)
    slope, error = np.gradient(value, RATES), np.zeros(len(RATES))
    number = np.searchsorted(share, RATES, side="right")
    # The cut is estimated: a row below it moves it by the risk of the case at the cut. With s the slope,
    # influences are w (1{below} (score - s) + c), and c = s P(below) - value.
    constant = slope * np.append(0.0, share)[number] - value
    if clusters is None:
        squares = np.stack([weights**2 * scores**power for power in range(3)])[:, order]
        count, first, second = np.pad(np.cumsum(squares, axis=1), ((0, 0), (1, 0)))[:, number]
        below = second - 2.0 * slope * first + slope**2 * count
        total = below + 2.0 * constant * (first - slope * count) + constant**2 * np.sum(weights**2)
        variance = np.maximum(total, 0.0) / weights.sum() ** 2 * len(weights) / (len(weights) - 1)
        error[1:] = np.sqrt(variance[1:])
        return value, error
    for place in range(1, len(RATES)):
        inside = np.zeros(len(risk))
        inside[order[: number[place]]] = 1.0
        influence = inside * (scores - slope[place]) + constant[place]
        error[place] = np.sqrt(covariance([weights * influence / weights.mean()], clusters)[0, 0])
    return value, error


def _share_beaten(
    lower: Array, upper: Array, errors: list[Array], level: float, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Share of decision-makers whose difference is negative, at the upper and at the lower end, shrunk."""
    generator, number = np.random.default_rng(seed), len(lower)
    draws = (generator.integers(0, number, number) for _ in range(N_BOOTSTRAP))
    times = np.stack([np.ones(number), *(np.bincount(rows, minlength=number) for rows in draws)])
    found = [share_below(*each, times) for each in ((upper, errors[1]), (lower, errors[0]))]
    tail = (1.0 - level) / 2.0
    interval = float(np.quantile(found[0], tail)), float(np.quantile(found[1], 1.0 - tail))
    return (float(found[0][0]), float(max(found[1][0], found[0][0]))), interval
