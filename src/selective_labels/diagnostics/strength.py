"""Instrument strength: first-stage F, UJIVE and Sargan as economists report them; the checks SL101 to SL104.

The figures inform; SL101 decides. T is the decision, Z the decision-makers; strata and features are
controls. The effect of a decision itself is not estimated.
"""

from dataclasses import dataclass, field

import numpy as np

from selective_labels._display import html_table, text_table
from selective_labels.assumptions.base import NOT_APPLICABLE, OK, WARNING
from selective_labels.diagnostics.context import Context, directions, excess
from selective_labels.diagnostics.hypothesis_tests import (
    centred,
    permutation_draws,
    permutation_p_value,
    sums_by,
)
from selective_labels.diagnostics.results import UNTESTED, Check, Finding, need
from selective_labels.identification.bounds import Array
from selective_labels.identification.costs import decided as decided_rows
from selective_labels.identification.leave_out import FirstStage, FirstStageTests, first_stage_tests
from selective_labels.nuisance.models.encoders import standardised

# Above these sizes the table of decision-makers by strata, or its inverse, does not fit.
MOST_DECISION_MAKERS = 2_000
MOST_PAIRS = 20_000_000
# With more decision-makers and clusters than this, leave-cluster-out leniency takes minutes.
MOST_LEFT_OUT = 50_000_000
N_BINS = 20
HEADINGS = ("instrument", "coefficient", "standard error", "F")


@dataclass(frozen=True)
class LeniencyStrength:
    """First stage with one constructed instrument P: T~ on P.

    b = P'T~ / P'P,   se = √(Σ_c (Σ_{i in c} P_i e_i)²) / P'P,   e = T~ - b P,   F = (b / se)²

    Attributes
    ----------
    name : str
        How the row's own decision is left out of the leniency of its decision-maker.
    coefficient, standard_error : float
        Near one where leniency predicts the decision one for one; noise in leniency makes it smaller.
    """

    name: str
    coefficient: float
    standard_error: float

    @property
    def f(self) -> float:
        """F of the instrument, robust to heteroskedasticity, and to clusters if groups are given."""
        return float((self.coefficient / self.standard_error) ** 2)


@dataclass(frozen=True, eq=False)
class InstrumentStrength:
    """Strength of decision-makers as an instrument for the decision, in the figures of economists.

    Attributes
    ----------
    tests : FirstStageTests
        F of the indicators of decision-makers, and Sargan's test of one slope: the labels seen,
        D 1{Y = event}, on the decision.
    n_instruments, n_controls : int
        Number of decision-makers that controls leave apart, and number of controls.
    leniencies : tuple of LeniencyStrength
        Leave-one-out, leave-cluster-out (groups, or else strata) and UJIVE.
    left_out : str
        Why one of these is missing; empty if none is.
    decision_maker : (n_samples,) int array
    leniency : (n_samples,) array
        Leave-one-out leniency, net of controls, plus the overall rate.
    decision, labeled_event : (n_samples,) arrays
        The decision, and D 1{Y = event}, net of controls, plus their means.
    event : str
        The last class.
    controls : str
        What is controlled for, in words.
    """

    tests: FirstStageTests
    n_instruments: int
    n_controls: int
    leniencies: tuple[LeniencyStrength, ...]
    left_out: str
    event: str
    controls: str
    decision_maker: np.ndarray = field(repr=False)
    leniency: Array = field(repr=False)
    decision: Array = field(repr=False)
    labeled_event: Array = field(repr=False)

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Cells of the table, one row for each instrument."""
        first = f"indicators of decision-makers ({self.n_instruments})", "", "", f"{self.tests.f:.3f}"
        return [
            first,
            *(
                (each.name, f"{each.coefficient:.3f}", f"{each.standard_error:.3f}", f"{each.f:.3f}")
                for each in self.leniencies
            ),
        ]

    @property
    def notes(self) -> list[str]:
        """Sargan's statistic, what is missing, and what is not estimated."""
        said = []
        if self.tests.p_value is not None:
            said.append(
                f"Sargan {self.tests.sargan:.3f} with {self.n_instruments - 1} degrees of freedom "
                f"(p = {self.tests.p_value:.3f}): tests one slope of the cases labeled {self.event!r} on the "
                "decision, as NUCEM without features implies; bounds do not need it."
            )
        if self.left_out:
            said.append(self.left_out)
        said.append(
            "A coefficient near one means that leniency in other cases predicts the decision one for one. "
            "These figures average over cases; SL101 decides. The effect of a decision is not estimated."
        )
        return said

    @property
    def heading(self) -> str:
        """Title of the table."""
        return f"Instrument strength: the decision on decision-makers, {self.controls}"

    def text(self) -> list[str]:
        """Lines of the table."""
        return [f"{self.heading}:", *text_table([HEADINGS, *self.rows]), *self.notes]

    def html(self) -> str:
        """The same in HTML."""
        lines = "".join(f"<li>{each}</li>" for each in self.notes)
        return f"<p>{self.heading}:</p>{html_table(HEADINGS, self.rows)}<ul>{lines}</ul>"

    def binned(self) -> tuple[Array, Array, Array]:
        """Means of leniency, decision and labeled event by decision-maker, or in twenty bins of leniency.

        With few decision-makers, bins would split their cases by the row's own decision, which lowers its
        leave-one-out leniency.
        """
        parts: list[np.ndarray]
        if len(np.unique(self.decision_maker)) <= N_BINS:
            parts = [np.flatnonzero(self.decision_maker == each) for each in np.unique(self.decision_maker)]
        else:
            parts = np.array_split(np.argsort(self.leniency, kind="stable"), N_BINS)
        columns = self.leniency, self.decision, self.labeled_event
        first, second, third = (np.array([values[each].mean() for each in parts]) for values in columns)
        return first, second, third

    def content(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "first_stage_f": self.tests.f,
            "n_instruments": self.n_instruments,
            "n_controls": self.n_controls,
            "controls": self.controls,
            "sargan": self.tests.sargan,
            "sargan_p_value": self.tests.p_value,
            "leniency": [
                {
                    "name": each.name,
                    "coefficient": each.coefficient,
                    "standard_error": each.standard_error,
                    "f": each.f,
                }
                for each in self.leniencies
            ],
            "notes": self.notes,
        }


def instrument_strength(context: Context) -> InstrumentStrength:
    """Compute the figures on all rows; each row counts once.

    Raises `NotApplicableError` where there is no first stage.
    """
    context.need_rejected()
    data, cell = context.data, context.cell
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    need(
        context.n_decision_makers <= MOST_DECISION_MAKERS
        and context.n_decision_makers * (int(cell.max()) + 1) <= MOST_PAIRS,
        "there are too many decision-makers and strata for indicators of all.",
    )
    features = np.empty((len(data), 0))
    if context.has_features:
        features = standardised(data.categorical).fit_transform(data.features)
    stage = FirstStage(context.decision_maker, cell, features)
    number = stage.n_instruments
    need(number, "within strata and given features, decision-makers do not differ in their cases.")
    need(len(data) > number + stage.n_controls, "there are as many controls as cases.")
    decision = data.decision.astype(float)
    event = context.seen_labels[:, -1]
    tests = first_stage_tests(stage, event, decision)
    need(np.isfinite(tests.f), "decisions do not vary within decision-makers.")
    alone = stage.leave_one_out(decision)
    instruments = {"leave-one-out leniency": alone}
    left_out, clusters = "", data.groups
    name, units = ("group", clusters) if clusters is not None else ("stratum", cell)
    if clusters is not None or data.strata is not None:
        if len(data) * number <= MOST_LEFT_OUT:
            instruments[f"leave-{name}-out leniency"] = stage.leave_cluster_out(decision, units)
        else:
            left_out = f"Leave-{name}-out leniency is not computed with so many cases and decision-makers."
    instruments["UJIVE"] = stage.jackknife(decision)
    inside = stage.residual(decision)
    return InstrumentStrength(
        tests,
        number,
        stage.n_controls,
        tuple(_strength(each, found, inside, clusters) for each, found in instruments.items()),
        left_out,
        str(data.classes.tolist()[-1]),
        _controls(context),
        context.decision_maker,
        alone + decision.mean(),
        inside + decision.mean(),
        stage.residual(event) + event.mean(),
    )


def _strength(name: str, leniency: Array, inside: Array, clusters: np.ndarray | None) -> LeniencyStrength:
    size = float(leniency @ leniency)
    need(size > 0.0, "leave-out leniency is the same for all cases.")
    slope = float(leniency @ inside) / size
    influence = leniency * (inside - slope * leniency)
    sums = influence if clusters is None else np.bincount(clusters, influence)
    return LeniencyStrength(name, slope, float(np.sqrt(np.sum(sums**2))) / size)


def _controls(context: Context) -> str:
    words = [context.place]
    if context.has_features:
        number = context.data.features.shape[1]
        words.append(f"given {number} feature{'s' if number > 1 else ''}")
    return " and ".join(words)


# A standard deviation of four points: the most and least lenient of eight then differ by about ten points.
SMALL_STRENGTH = 0.04**2


def leave_out_strength(sums: np.ndarray) -> np.ndarray:
    """Average variance of leniency over decision-makers, corrected for sampling error.

    E[V(X)] = Σ_z e_z |b_z|²,   b_z = E[(D - m(X)) φ(X) | z],   φ orthonormal,

    estimated from products of different units only, so that sampling error averages to zero:

    (1/n) Σ_z n_z (|Σ_u c_u|² - Σ_u |c_u|²) / (n_z² - Σ_u n_u²),   c_u = Σ_{i in u} (D_i - m(x_i)) φ(x_i).

    Parameters
    ----------
    sums : (n_decision_makers, n_directions + 3) array
        Sums over the units u of each decision-maker: c_u, then |c_u|², the number of rows n_u, and n_u².

    Returns
    -------
    (1,) array

    Examples
    --------
    Two decision-makers have two rows each; D - m is -.5 for the rows of one and .5 for those of the other:

    >>> leave_out_strength(np.array([[-1.0, 0.5, 2.0, 2.0], [1.0, 0.5, 2.0, 2.0]]))
    array([0.25])
    """
    totals, squares, rows, squared_sizes = sums[:, :-3], sums[:, -3], sums[:, -2], sums[:, -1]
    pairs = rows**2 - squared_sizes
    several = pairs > 0.0
    products = np.sum(totals**2, axis=1) - squares
    parts = rows[several] * products[several] / pairs[several]
    return np.array([parts.sum() / max(rows[several].sum(), 1.0)])


def _figures(strength: float) -> str:
    return f"a standard deviation of leniency for comparable cases of {100 * np.sqrt(strength):.1f} points"


def _find_conditional_strength(context: Context) -> Finding:
    rows, units = context.compared, context.units
    context.need_rejected()
    need(len(rows) > context.n_decision_makers, "hardly any decision-maker has two cases.")
    residual = context.data.decision[rows] - context.case_model.decision
    along = directions(context.data.features[rows], context.data.categorical, context.cell[rows])
    columns = centred(residual[:, None] * along, context.cell[rows])
    totals = units.total(columns)
    with_sizes = np.column_stack([totals, np.sum(totals**2, axis=1), units.size, units.size**2])
    observed, drawn = permutation_draws(
        units, with_sizes, leave_out_strength, context.n_permutations, context.generator(101)
    )
    p_value = permutation_p_value(observed[0], drawn[:, 0])
    strength = max(float(observed[0]), 0.0)
    if p_value > context.level:
        return Finding(
            WARNING,
            f"Decision-makers do not differ by more than chance explains: {_figures(strength)}.",
            strength,
            p_value,
            "Bounds will be as wide as without an instrument; do not use point estimates (NUCEM).",
        )
    # Models may find differences that are not linear in the features.
    strength = max(strength, float(context.row_model.strength.mean()))
    if strength < SMALL_STRENGTH:
        return Finding(
            WARNING,
            f"Decision-makers hardly differ: {_figures(strength)}.",
            strength,
            p_value,
            "Expect bounds nearly as wide as without an instrument; do not use point estimates (NUCEM).",
        )
    return Finding(OK, f"Decision-makers differ: {_figures(strength)}.", strength, p_value)


def need_strength(context: Context, purpose: str) -> None:
    """Raise `NotApplicableError` unless decision-makers differ enough for a purpose."""
    result = context.result_of(CONDITIONAL_STRENGTH_CHECK)
    need(result.status != NOT_APPLICABLE, result.message.removeprefix(UNTESTED))
    need(result.status == OK, f"decision-makers differ too little (SL101) {purpose}.")


CONDITIONAL_STRENGTH_CHECK = Check("SL101", "conditional strength", "relevance", _find_conditional_strength)


USABLE = 10.0


@dataclass(frozen=True)
class Leniency:
    """Decision-makers' acceptance rates, adjusted for strata.

    Attributes
    ----------
    rows : (n_decision_makers,) array
        Number of compared cases.
    mean, variance : (n_decision_makers,) arrays
        Moments of the adjusted decision. The mean is NaN without cases, the variance with fewer than two.
    """

    rows: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Standard errors of the rates."""
        return np.sqrt(self.variance / np.maximum(self.rows, 1))


def adjusted_leniency(context: Context) -> Leniency:
    """Acceptance rates of all decision-makers, centred within strata, plus the overall rate."""
    values = context.adjusted_outcomes[:, 0]
    codes = context.decision_maker[context.compared]
    columns = np.column_stack([np.ones(len(values)), values, values**2])
    rows, total, squares = sums_by(codes, columns, context.n_decision_makers).T
    mean = np.divide(total, rows, out=np.full(len(rows), np.nan), where=rows > 0)
    variance = np.full(len(rows), np.nan)
    several = rows > 1
    within = np.maximum(squares[several] / rows[several] - mean[several] ** 2, 0.0)
    variance[several] = within * rows[several] / (rows[several] - 1)
    return Leniency(rows, mean, variance)


def explained_and_noise(leniency: Leniency) -> tuple[float, float]:
    """Between-decision-maker sum of squares, and its expectation from sampling error alone.

    N = Σ_z n_z (λ_z - λ̄)²,   E[N | equal] = Σ_z (1 - n_z / n) σ_z²

    Decision-makers with a single case have no variance estimate and are left out.

    Examples
    --------
    >>> rates = Leniency(np.array([100.0, 100.0]), np.array([0.4, 0.6]), np.array([0.24, 0.24]))
    >>> explained_and_noise(rates)
    (2.0, 0.24)
    """
    several = leniency.rows > 1
    rows, mean = leniency.rows[several], leniency.mean[several]
    explained = np.sum(rows * (mean - np.average(mean, weights=rows)) ** 2)
    noise = np.sum((1.0 - rows / rows.sum()) * leniency.variance[several])
    return round(float(explained), 12), round(float(noise), 12)


def effective_f(context: Context) -> float:
    """Effective F of Montiel Olea and Pflueger with decision-maker indicators: N / E[N | equal]."""
    context.need_rejected()
    leniency = adjusted_leniency(context)
    need(np.sum(leniency.rows > 1) > 1, "fewer than two decision-makers have more than one case.")
    explained, noise = explained_and_noise(leniency)
    need(noise > 0.0, "decisions do not vary within decision-makers.")
    return explained / noise


def _find_effective_f(context: Context) -> Finding:
    statistic = effective_f(context)
    decided = context.result_of(CONDITIONAL_STRENGTH_CHECK).status
    status = OK if decided == NOT_APPLICABLE else decided
    if statistic >= USABLE:
        message = f"Effective F of decision-makers is {statistic:.1f}: above 10, the rule of thumb."
    else:
        message = f"Effective F of decision-makers is {statistic:.1f}: below 10, the rule of thumb."
        if status == OK:
            message += " It ignores features; for comparable cases decision-makers do differ (SL101 decides)."
    return Finding(status, message, statistic)


EFFECTIVE_F_CHECK = Check("SL102", "effective F", "relevance", _find_effective_f)


def _find_leniency_spread(context: Context) -> Finding:
    context.need_rejected()
    leniency = adjusted_leniency(context)
    need(np.sum(leniency.rows > 1) > 1, "fewer than two decision-makers have more than one case.")
    explained, noise = explained_and_noise(leniency)
    rows = leniency.rows[leniency.rows > 1].sum()
    spread = np.sqrt(max(explained - noise, 0.0) / rows)
    seen = np.sqrt(explained / rows)
    decided = context.result_of(CONDITIONAL_STRENGTH_CHECK).status
    return Finding(
        OK if decided == NOT_APPLICABLE else decided,
        f"Acceptance rates {context.place} have a standard deviation of {100 * seen:.1f} points over "
        f"decision-makers, {100 * spread:.1f} of which are not sampling noise.",
        float(spread),
    )


LENIENCY_SPREAD_CHECK = Check("SL103", "spread of leniency", "relevance", _find_leniency_spread)


WIDE_RANGE = 0.1


def _find_worth_of_bounds(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    wide = float(np.mean(context.row_model.leniency_range > WIDE_RANGE))
    bounds, _ = context.bounds
    # SL401 uses the same estimate, so the figures of the two checks add up to one.
    slack = max(-float(excess(context).mean()), 0.0)
    unseen = 1.0 - float(context.model_data.labeled.mean())
    settled = float(decided_rows(bounds).mean())
    decided = context.result_of(CONDITIONAL_STRENGTH_CHECK).status
    return Finding(
        OK if decided == NOT_APPLICABLE else decided,
        f"For {wide:.0%} of cases the most and the least lenient decision-maker differ by more than 10 "
        f"points. Labels of {unseen:.0%} are unseen; bounds leave {slack:.0%} open on average, and settle "
        f"the most probable class of {settled:.0%} of cases.",
        slack,
    )


WORTH_OF_BOUNDS_CHECK = Check("SL104", "worth of bounds", "relevance", _find_worth_of_bounds)
