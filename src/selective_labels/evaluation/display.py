"""Text, HTML and plots of results, and the class `Curve`; nothing is estimated here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from selective_labels._display import Described, decimals, digits, html_table, new_axes, text_table
from selective_labels._errors import InputError
from selective_labels.assumptions.parse import named, names

if TYPE_CHECKING:
    from selective_labels.evaluation.results import Estimated, Evaluation, Evaluations, Sample


INTERVAL_TEXTS = {
    "parameter": "covers the value, wherever it lies between the ends,",
    "set": "covers the whole identified interval",
    "simultaneous": "holds together with all others of its table, so also after choosing,",
}
LARGE_CLIPPED_SHARE = 0.05
# With fewer units, Student's t is only a rough approximation.
FEW_UNITS = 10
# In units of accuracy: a smaller excess width is not visible in printed numbers.
LARGE_LOSS = 0.005
HEADINGS = ("metric", "assumption", "lower", "upper", "interval")


def one_text(result: "Estimated") -> str:
    """Return one result as a few lines of text."""
    return "\n".join([_headline(result), *below(result)])


def one_html(result: "Estimated") -> str:
    """Return one result as HTML."""
    lines = "".join(f"<div>{escape(line)}</div>" for line in below(result))
    return f"<div><strong>{escape(_headline(result))}</strong>{lines}</div>"


def many_text(results: "Evaluations") -> str:
    """Return results as a table, with assumptions and sample below it."""
    return "\n".join([*text_table([HEADINGS, *_rows(with_gaps(results))]), *below_many(results)])


def many_html(results: "Evaluations") -> str:
    """Return results as an HTML table, with assumptions and sample below it."""
    footer = "".join(f"<div>{escape(line)}</div>" for line in below_many(results))
    return f"{html_table(HEADINGS, _rows(with_gaps(results)))}{footer}"


# Width of a letter of a label, in inches.
LETTER = 0.075


def plot_intervals(
    results: Sequence["Estimated"], ax: Any = None, labels: Sequence[str] | None = None
) -> Any:
    """Draw identified sets as thick lines and confidence intervals as thin ones."""
    import matplotlib.pyplot as plt

    if labels is None:
        labels = [f"{result.title} ({result.assumption})" for result in results]
    if ax is None:
        # Sizes are for letters of ten points; a style for papers or slides has others.
        scale = plt.rcParams["font.size"] / 10.0
        width = max(6.4, 3.2 + LETTER * max(map(len, labels)))
        size = (scale * width, scale * (1.4 + 0.35 * len(results)))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    given = dict.fromkeys([*names(), *(result.assumption for result in results)])
    colours = {name: f"C{number}" for number, name in enumerate(given)}
    for height, result in enumerate(results):
        colour = colours[result.assumption]
        ax.hlines(height, result.ci_lower, result.ci_upper, color=colour, linewidth=1.5)
        ax.hlines(height, result.lower, result.upper, color=colour, linewidth=6)
        ax.plot([result.lower, result.upper], [height, height], "|", color=colour, markersize=11)
    ax.set_yticks(range(len(results)), labels)
    ax.invert_yaxis()
    ax.margins(y=0.5 / len(results))
    if any(result.limits[0] < 0.0 < result.limits[1] for result in results):  # differences: mark zero
        ax.axvline(0.0, color="0.5", linewidth=1, linestyle="--")
    first = results[0]
    ax.set_xlabel(
        f"thick: bounds\nthin: {100 * first.confidence_level:.4g} % interval for the {_target(first)}"
    )
    return ax


def assumption_text(name: str, sentence: str = "") -> str:
    """State the assumption and what would refute it; known names have a default sentence.

    Examples
    --------
    >>> assumption_text("none")
    "Assumption (none): nothing is assumed about the missing labels (Manski's worst case). What
    would refute it: nothing."
    """
    return f"Assumption ({name}): {sentence or named(name).caption}"


def sample_text(sample: "Sample") -> str:
    """Describe the sample in one sentence."""
    share = sample.n_labeled / sample.n
    makers = f"{sample.n_decision_makers:,} decision-maker{'s' if sample.n_decision_makers > 1 else ''}"
    if sample.numeric:
        makers = f"a numeric decision_maker, each case at the nearest of {sample.n_decision_makers} values"
    what = "cases"
    if sample.n_panels is not None:
        what, makers = "rows", f"{makers} in {sample.n_panels:,} panels"
    text = f"{sample.n:,} {what}, {sample.n_labeled:,} of them ({share:.0%}) with a label, {makers}"
    units = units_text(sample.cluster, sample.n_clusters)
    text = f"{text}; {units}." if units else f"{text}."
    if sample.n_fitted:
        text += f" Models were fitted to {sample.n_fitted:,} of the cases; all are scored."
    if sample.rank_error > 0.0:
        text += f" Ranks are those of bins: the ends reach {sample.rank_error:.1g} further for it."
    return text


def units_text(cluster: str | None, n_clusters: int) -> str:
    """Name the independent units for the standard errors; empty if they are rows.

    Examples
    --------
    >>> units_text("groups", 1200)
    'standard errors by 1,200 clusters (groups: rows of one group are not independent)'
    """
    if cluster is None:
        return ""
    why = ": rows of one group are not independent" if cluster == "groups" else ""
    return f"standard errors by {n_clusters:,} clusters ({cluster}{why})"


def few_units_text(number: float, cluster: str | None, n_units: int) -> str:
    """State that few units dominate the standard error, and the consequence.

    Examples
    --------
    >>> few_units_text(5.2, "groups", 3120)
    'The interval rests on about 5 of 3,120 clusters: these have large weights or rare outcomes and make up
    most of the standard error. It is wider for that, and rough: a few other clusters could move it.'
    >>> few_units_text(8.0, None, 8)
    'The interval rests on about 8 of 8 rows. It is wider for that, and rough: a few other rows could move
    it.'
    """
    units = "rows" if cluster is None else "clusters"
    few_of_many = number < n_units / 2
    why = ": these have large weights or rare outcomes and make up most of the standard error"
    return (
        f"The interval rests on about {number:.0f} of {n_units:,} {units}{why if few_of_many else ''}. It is "
        f"wider for that, and rough: a few other {units} could move it."
    )


def bounded_text(share: float) -> str:
    """State the share of rows that contribute bounds instead of a value.

    Examples
    --------
    >>> bounded_text(0.123)
    '12 % of the rows enter by their instrument bounds: decision-makers differ too little for such cases.'
    """
    if share == 1.0:
        return (
            "All rows enter by their instrument bounds: decision-makers differ too little for a value, and "
            "the assumption adds nothing to the instrument."
        )
    percent = "Less than 1 %" if share < 0.005 else f"{100 * share:.0f} %"
    return (
        f"{percent} of the rows enter by their instrument bounds: decision-makers differ too little for "
        "such cases."
    )


def _headline(result: "Estimated") -> str:
    if not result.defined:
        return f"{result.title}: no value"
    if result.lower == result.upper:
        return f"{result.title}: {_number(result.lower)}"
    return f"{result.title}: between {_number(result.lower)} and {_number(result.upper)}"


def below(result: "Estimated") -> list[str]:
    """List what stands below the headline of a result: remarks, interval, notes, assumption, sample."""
    lines = [
        *([_interval_text(result)] if result.ci_lower == result.ci_lower else []),
        *notes_of(result),
        assumption_text(result.assumption, result.sample.sentence),
        f"Sample: {sample_text(result.sample)}",
    ]
    return [*result.remarks, *lines]


def _interval_text(result: "Estimated") -> str:
    exact = "exact, " if result.exact else ""
    return (
        f"{_percent(result)} interval: {_interval(result)}; {exact}it "
        f"{INTERVAL_TEXTS[result.interval]} with probability {result.confidence_level:.4g}."
    )


def caution_lines(sample: "Sample") -> list[str]:
    """List why the numbers under an assumption are doubtful on these rows."""
    return [f"Caution: {each}" for each in sample.cautions]


def notes_of(result: "Estimated") -> list[str]:
    """List what is missing, why, and what makes a number less certain than it looks; cautions come first."""
    notes = caution_lines(result.sample)
    if result.reason is not None:
        missing = "No interval" if result.defined else "No value"
        notes.append(f"{missing}: {result.reason}")
    if result.crossed and result.defined:
        notes.append(
            "The ends crossed and were set to where they meet: noise, or an assumption that does not fit the "
            "data."
        )
    number = result.sample.n_effective
    if not result.exact and number < FEW_UNITS:
        notes.append(few_units_text(number, result.sample.cluster, result.sample.n_clusters))
    if result.sample.bounded_share > 0.0:
        notes.append(bounded_text(result.sample.bounded_share))
    # Nothing that sounds like a guarantee stands beside a reason to doubt the bounds.
    unsettled = "not to be trusted" in result.sample.assignment
    doubtful = result.crossed or result.sample.cautions or result.sample.refusal is not None or unsettled
    if result.sample.sharpness_lost > LARGE_LOSS and not doubtful:
        notes.append(
            f"These bounds are conservative by about {result.sample.sharpness_lost:.2f} (accuracy): "
            "decision-makers with statistically indistinguishable rates are pooled."
        )
    if result.sample.refusal is not None:
        notes.append(f"Not to be relied on here: {result.sample.refusal}")
    if result.sample.assignment:
        notes.append(result.sample.assignment)
    elif result.sample.clipped_share > LARGE_CLIPPED_SHARE:
        notes.append(
            f"Little overlap: weights reached their limit in {result.sample.clipped_share:.0%} of the rows."
        )
    return notes


def bounds_text(result: "Estimated") -> str:
    """Return both ends, or the value, with three digits."""
    if not result.defined:
        return "none"
    low, high = _number(result.lower), _number(result.upper)
    return low if low == high else f"{low} to {high}"


def interval_text(result: "Estimated") -> str:
    """Return the interval in brackets, as printed below the bounds."""
    if not result.defined:
        return ""
    if np.isnan([result.ci_lower, result.ci_upper]).any():
        return "(no interval)"
    return f"({_number(result.ci_lower)} to {_number(result.ci_upper)})"


def cell_texts(result: "Estimated | None") -> tuple[str, str]:
    """Return bounds and interval, one below the other in a printed table; nothing for a missing result."""
    return ("", "") if result is None else (bounds_text(result), interval_text(result))


def with_gaps(results: "Evaluations") -> list["Evaluation"]:
    """List evaluations, and the differences between subgroups after them."""
    return [*results, *(results.gaps or ())]


def _rows(results: Iterable["Estimated"]) -> list[tuple[str, ...]]:
    return [
        (item.title, item.assumption, _number(item.lower), _number(item.upper), _interval(item))
        for item in results
    ]


def short_table(results: Iterable["Estimated"]) -> pd.DataFrame:
    """Return what is printed of results as a frame of text, for papers and pages."""
    return pd.DataFrame(_rows(results), columns=list(HEADINGS))


def coefficients(results: Iterable["Estimated"]) -> pd.DataFrame:
    """Return a table of coefficients in the form that the package maketables reads.

    An estimate `b` with its standard error exists only where the assumption identifies the value. The bounds
    are "lower" and "upper", and "ci95l" and "ci95u" are the ends of the interval at its own level. Without a
    null hypothesis there are no t and p.
    """
    rows = {}
    for each in results:
        known = each.lower == each.upper
        rows[each.title] = {
            "b": each.lower if known else np.nan,
            "se": each.standard_errors[0] if known else np.nan,
            "t": np.nan,
            "p": np.nan,
            "lower": each.lower,
            "upper": each.upper,
            "ci95l": each.ci_lower,
            "ci95u": each.ci_upper,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("Coefficient")


def below_many(results: "Evaluations") -> list[str]:
    """List what stands below a table of results: interval, assumptions, samples, notes."""
    items = list(results)
    if not items:
        return []
    first = items[0]
    assumed = {item.assumption: item.sample.sentence for item in items}
    samples = {_whom(item): item.sample for item in items}
    lines = [
        f"lower, upper: estimated ends of what the assumption leaves possible. interval: {_percent(first)}, "
        f"{INTERVAL_TEXTS[first.interval]} with probability {first.confidence_level:.4g}."
    ]
    lines += [assumption_text(*each) for each in assumed.items()]
    lines += [
        f"{item.title}: the interval under {item.assumption} lies outside that under none, which assumes "
        "nothing: the assumption does not hold here, or its estimate is too weak to use."
        for item in items
        if results.contradicts(item)
    ]
    lines += [f"Sample{whom}: {sample_text(sample)}" for whom, sample in samples.items()]
    return [*lines, *shared_notes(items)]


def shared_notes(results: Sequence["Estimated"]) -> list[str]:
    """Notes of several results; a note that all of them have stands once, without their names."""
    found: dict[str, list[str]] = {}
    for result in results:
        for note in dict.fromkeys(notes_of(result)):
            found.setdefault(note, []).append(f"{result.title} ({result.assumption})")
    return [
        note if len(about) == len(results) > 1 else f"{'; '.join(about)}: {note}"
        for note, about in found.items()
    ]


def _whom(item: "Evaluation") -> str:
    names = [str(name) for name in (item.subgroup, item.reference) if name is not None]
    return f" ({' and '.join(names)})" if names else ""


def _interval(result: "Estimated") -> str:
    if result.ci_lower != result.ci_lower:  # NaN
        return "none"
    return f"[{_number(result.ci_lower)}, {_number(result.ci_upper)}]"


def _percent(result: "Estimated") -> str:
    return f"{100 * result.confidence_level:.4g} %"


def _target(result: "Estimated") -> str:
    return "value" if result.interval == "parameter" else "identified interval"


def _number(value: float) -> str:
    return "none" if value != value else decimals(value)


# Bounds and interval, which every result has.
ENDS = ("lower", "upper", "ci_lower", "ci_upper")


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Described):
    """A point estimate, or bounds, as a function of one variable.

    Attributes
    ----------
    x_name : str
        Name of the variable.
    x : (n_points,) array
        Ascending.
    lower, upper : (n_points,) arrays
        Estimated bounds; equal for a point estimate.
    ci_lower, ci_upper : (n_points,) arrays
        Pointwise confidence interval.
    assumption : str
        The assumption in words.
    identifies : str
        The identified quantity in words.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> curve = Curve(title="Failure rate", x_name="acceptance", x=np.array([0.0, 1.0]), lower=half * [0, 1],
    ...     upper=half * [0, 1], ci_lower=half * 0, ci_upper=half, assumption="Chance assigns cases.",
    ...     identifies="The rate of this rule.", n_samples=8, confidence_level=0.95)
    >>> print(curve.at([0.25]))
    Failure rate
    <BLANKLINE>
     acceptance  estimate  ci_lower  ci_upper
           0.25     0.125         0       0.5
    <BLANKLINE>
    Assumption: Chance assigns cases.
    Identifies: The rate of this rule.
    Sample: 8 cases; each 95% interval covers the value at one point of the curve.
    """

    title: str
    x_name: str
    x: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ci_lower: np.ndarray
    ci_upper: np.ndarray
    assumption: str
    identifies: str
    n_samples: int
    confidence_level: float

    @property
    def is_point(self) -> bool:
        """Whether the two bounds are equal everywhere."""
        return bool(np.array_equal(self.lower, self.upper))

    def __len__(self) -> int:
        return len(self.x)

    def at(self, x: Any) -> "Curve":
        """Evaluate the curve at other values by linear interpolation.

        Parameters
        ----------
        x : number or array of numbers within the range of the curve

        Returns
        -------
        Curve
        """
        wanted = np.atleast_1d(np.asarray(x, dtype=float))
        if not ((wanted >= self.x[0]) & (wanted <= self.x[-1])).all():  # NaN is outside too
            raise InputError(
                f"the curve runs over {self.x_name} from {self.x[0]:.4g} to {self.x[-1]:.4g}; "
                "it says nothing beyond.",
                "x",
            )
        ends = {end: np.interp(wanted, self.x, getattr(self, end)) for end in ENDS}
        return Curve(
            title=self.title,
            x_name=self.x_name,
            x=wanted,
            **ends,
            assumption=self.assumption,
            identifies=self.identifies,
            n_samples=self.n_samples,
            confidence_level=self.confidence_level,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per point."""
        ends = {"estimate": self.lower} if self.is_point else {"lower": self.lower, "upper": self.upper}
        return pd.DataFrame(
            {self.x_name: self.x, **ends, "ci_lower": self.ci_lower, "ci_upper": self.ci_upper}
        )

    def sentences(self) -> list[str]:
        """Describe the assumption, the identified quantity and the sample."""
        return [
            f"Assumption: {self.assumption}",
            f"Identifies: {self.identifies}",
            f"Sample: {self.n_samples} cases; each {self.confidence_level:.0%} interval covers the value at "
            "one point of the curve.",
        ]

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve with a confidence band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        label : str, optional
            Label in the legend.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes() if ax is None else ax
        (line,) = ax.plot(self.x, self.lower, label=label)
        if not self.is_point:
            ax.plot(self.x, self.upper, color=line.get_color())
        ax.fill_between(self.x, self.ci_lower, self.ci_upper, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set(xlabel=self.x_name, ylabel=self.title)
        ax.set_title(self.assumption, fontsize="small", wrap=True)
        return ax


def frame_along(name: str, values: np.ndarray, results: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a frame with one row per value: the value in column `name`, and bounds of every metric.

    Parameters
    ----------
    name : str
        Name of the first column.
    values : (n_points,) array
    results : dict of sequence of Evaluation
        By metric, one for each value.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(lower=0.2, upper=0.3, ci_lower=0.1, ci_upper=0.4)
    >>> frame_along("rate", np.array([0.5]), {"failures": [found]}).to_numpy()
    array([[0.5, 0.2, 0.3, 0.1, 0.4]])
    """
    columns = {name: values}
    for metric, found in results.items():
        for end in ENDS:
            columns[f"{metric}_{end}"] = np.array([getattr(each, end) for each in found])
    return pd.DataFrame(columns)


def in_words(values: Sequence[Any] | np.ndarray, most: int = 5) -> str:
    """Join the first few values to text.

    Examples
    --------
    >>> in_words(["a", "b"]), in_words(range(9), most=3)
    ('a, b', '0, 1, 2 and 6 more')
    """
    shown = ", ".join(str(value) for value in list(values)[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _in_millions(value: float) -> str:
    """Three significant digits, in millions from one million on."""
    if value >= 1e6:
        return f"{digits(value / 1e6, 3)} million"
    return f"{float(f'{value:.3g}'):,.0f}"


def money_a_year(doing: str, ends: tuple[float, float], cases_per_year: float | None) -> str:
    """Say what a change of the mean cost of a case means for the cases of a year, or for one case.

    Examples
    --------
    >>> money_a_year("Following the score", (-12.5, 3.0), 20_000)
    'Following the score would cost between 250,000 less and 60,000 more a year than today.'
    >>> money_a_year("Following the score", (-12.5, -3.0), 20_000)
    'Following the score would save between 60,000 and 250,000 a year compared with today.'
    >>> money_a_year("Following the score", (-12.5, 3.0), None)
    'Following the score would cost between 12.5 less and 3 more a case than today.'
    >>> money_a_year("Following the score", (-1125.44, -325.68), 20_000)
    'Following the score would save between 6.51 million and 22.5 million a year compared with today.'
    """
    if not np.isfinite(ends).all():
        return f"{doing}: the data set no limit to what it costs or saves."
    if cases_per_year is None:
        (low, high), unit = ends, "a case"
        less, more = digits(abs(low), 3), digits(abs(high), 3)
    else:
        (low, high), unit = (each * cases_per_year for each in ends), "a year"
        less, more = _in_millions(abs(low)), _in_millions(abs(high))
    if high <= 0.0:
        return f"{doing} would save between {more} and {less} {unit} compared with today."
    if low >= 0.0:
        return f"{doing} would cost between {less} and {more} more {unit} than today."
    return f"{doing} would cost between {less} less and {more} more {unit} than today."
