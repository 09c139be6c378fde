"""Instrument strength as economists report it: leave-out leniency, first-stage F, UJIVE and Sargan.

These figures inform; SL101 decides. T is the decision, Z the decision-makers; strata and features are
controls. The effect of a decision itself is not estimated.
"""

from dataclasses import dataclass, field

import numpy as np

from selective_labels._display import html_table, text_table
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import need
from selective_labels.identification.bounds import Array
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
