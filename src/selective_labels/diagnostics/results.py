"""Results of checks: findings, verdicts on assumptions, and the text, table and plots of a diagnosis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from selective_labels._display import Display, digits, new_axes
from selective_labels._errors import UndefinedError
from selective_labels._validation import require_choice
from selective_labels.assumptions.base import (
    ALGEBRA,
    FAMILIES,
    MATURITY,
    NOT_APPLICABLE,
    OK,
    VIOLATED,
    WARNING,
    Assumption,
    CheckVerdict,
    Findings,
    worst,
)
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.parse import known, named

if TYPE_CHECKING:
    from selective_labels.diagnostics.context import Context
    from selective_labels.diagnostics.strength import InstrumentStrength


Item = TypeVar("Item")
UNTESTED = "Not tested: "
# SL201 to SL205 all test random assignment.
ASSIGNMENT_LOOKS = 5


class NotApplicableError(Exception):
    """The data do not allow a check; the message says why."""


@dataclass(frozen=True)
class Finding:
    """Result of a check before its code and name are added.

    Attributes
    ----------
    status : "ok", "warning", "violated" or "not applicable"
    message : str
        One or two sentences for practitioners.
    advice : str
        What to do; empty if no action is needed.
    detects : str
        Violation that the check detects with 80% power, as a noun phrase; empty if not computed.
    """

    status: str
    message: str
    statistic: float | None = None
    p_value: float | None = None
    advice: str = ""
    detects: str = ""


@dataclass(frozen=True)
class CheckResult:
    """Result of one coded check.

    Attributes
    ----------
    code : str
        Stable code; docs/diagnostics.md lists all codes.
    status : "ok", "warning", "violated" or "not applicable"
        "not applicable" is not a pass: nothing was tested.
    p_value : float or None
        P-value of the null hypothesis, if the check is a test.
    message : str
        What the check found, in words.
    advice : str
        What to do; empty if no action is needed.
    detects : str
        Violation that the check detects with 80% power given the design (sample size, decision-makers and
        noise); empty if not computed.
    """

    code: str
    name: str
    family: str
    status: str
    statistic: float | None
    p_value: float | None
    message: str
    advice: str = ""
    detects: str = ""


@dataclass(frozen=True)
class Check:
    """Coded check; insufficient data give "not applicable" instead of an error.

    Attributes
    ----------
    find : callable
        Maps a :class:`Context` to a :class:`Finding`; may raise :class:`NotApplicableError` with the reason.
    """

    code: str
    name: str
    family: str
    find: Callable[["Context"], Finding]

    def __call__(self, context: "Context") -> CheckResult:
        """Run the check."""
        try:
            finding = self.find(context)
        except NotApplicableError as reason:
            finding = Finding(NOT_APPLICABLE, f"{UNTESTED}{reason}")
        except np.linalg.LinAlgError:
            words = "the data leave nothing to compare (a singular system of equations)."
            finding = Finding(NOT_APPLICABLE, f"{UNTESTED}{words}")
        return CheckResult(
            self.code,
            self.name,
            self.family,
            finding.status,
            finding.statistic,
            finding.p_value,
            finding.message,
            finding.advice,
            finding.detects,
        )


def need(condition: object, reason: str) -> None:
    """Raise :class:`NotApplicableError` with the reason unless the condition holds."""
    if not condition:
        raise NotApplicableError(reason)


def status_of_test(p_value: float, level: float, n_looks: int = 1) -> str:
    """Status of a test of an assumption: "violated" if the test rejects at the level.

    A p-value equal to the level rejects: the sample is among the ten most extreme of 199 permutations and
    itself with probability exactly 1/20 under the null. If several checks test the same assumption, the
    chance that one of them rejects exceeds the level. A rejection that does not survive the Bonferroni
    correction for `n_looks` is a warning only.

    Examples
    --------
    >>> status_of_test(0.03, 0.05), status_of_test(0.03, 0.05, n_looks=3)
    ('violated', 'warning')
    """
    if p_value > level:
        return OK
    return VIOLATED if p_value <= level / n_looks else WARNING


WIDTH = 110
HEADINGS = ("code", "check", "status", "statistic", "p-value")
VERDICT_HEADING = "What the checks say of each assumption:"
COLOURS = {"ok": "#2e7d32", "warning": "#b26a00", "violated": "#b00020", "not applicable": "#666666"}


def text(diagnosis: "Diagnosis") -> str:
    """Text of a diagnosis: verdicts, table, and the message of each check."""
    rows = [HEADINGS, *_rows(diagnosis)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    findings = [
        fill(f"{result.code} {result.message} {result.advice}".strip(), WIDTH, subsequent_indent="      ")
        for result in diagnosis
    ]
    verdict = [fill(line, WIDTH, subsequent_indent="  ") for line in verdict_lines(diagnosis)]
    parts = [_headline(diagnosis), "", VERDICT_HEADING, *verdict, "", *table, "", *findings]
    if diagnosis.strength is not None:
        parts += [
            "",
            *(fill(line, WIDTH) if len(line) > WIDTH else line for line in diagnosis.strength.text()),
        ]
    return "\n".join(parts)


def html(diagnosis: "Diagnosis") -> str:
    """HTML of a diagnosis, with all text escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in (*HEADINGS, "finding"))
    body = []
    for row, result in zip(_rows(diagnosis), diagnosis, strict=True):
        cells = [f"<td>{escape(cell)}</td>" for cell in row]
        cells[2] = f'<td style="color:{COLOURS[result.status]}">{escape(result.status)}</td>'
        finding = f"{result.message} {result.advice}".strip()
        body.append(f"<tr>{''.join(cells)}<td style='text-align:left'>{escape(finding)}</td></tr>")
    verdict = "".join(f"<li>{escape(line)}</li>" for line in verdict_lines(diagnosis))
    return (
        f"<p>{escape(_headline(diagnosis))}</p><p>{VERDICT_HEADING}</p><ul>{verdict}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        f"{'' if diagnosis.strength is None else diagnosis.strength.html()}"
    )


def verdict_lines(diagnosis: "Diagnosis") -> list[str]:
    """One line for each question about an assumption."""
    return [
        f"{words}: {diagnosis.allows(assumption, given=given)}" for assumption, given, words in questions()
    ]


def questions() -> list[tuple[Assumption, str, str]]:
    """Questions of a diagnosis: the assumption, what assignment is random within, and the question in words.

    Examples
    --------
    >>> questions()[0]
    (Instrument(), 'strata', 'instrument, cases random within strata')
    """
    return [(each, given, words) for each in known() for given, words in each.questions]


def _headline(diagnosis: "Diagnosis") -> str:
    words = f"{diagnosis.n_samples:,} cases, {diagnosis.n_decision_makers:,} decision-makers"
    if diagnosis.n_model_rows < diagnosis.n_samples:
        words += f"; models fitted on a random {diagnosis.n_model_rows:,} cases, counts on all"
    return f"{words}. {diagnosis.sharing}".strip()


def p_value_text(p_value: float | None) -> str:
    """A p-value with three digits, never as zero.

    Examples
    --------
    >>> p_value_text(0.0341), p_value_text(1e-7), p_value_text(None)
    ('0.034', '<0.001', '')
    """
    if p_value is None:
        return ""
    return "<0.001" if p_value < 0.0005 else f"{p_value:.3f}"


def _rows(diagnosis: "Diagnosis") -> list[tuple[str, ...]]:
    return [
        (
            result.code,
            f"{result.family}: {result.name}",
            result.status,
            "" if result.statistic is None else digits(result.statistic),
            p_value_text(result.p_value),
        )
        for result in diagnosis
    ]


GIVEN = ("strata", "features")


def permission(assumption: str | Assumption, given: str, results: Sequence[CheckResult]) -> CheckVerdict:
    """Decide from all check results whether an assumption may be used; the reason names the checks.

    Parameters
    ----------
    assumption : str or Assumption
        One that checks can test: "instrument", "nucem", "unconfounded", or a combination.
    given : "strata" or "features"
        For "instrument": what assignment is as good as random within. The others always condition on
        features.

    Examples
    --------
    >>> def found(code, family, status):
    ...     return CheckResult(code, "name", family, status, None, None, "message")
    >>> skewed = [found("SL202", "assignment", "violated"), found("SL301", "overlap", "ok")]
    >>> permission("instrument", "strata", skewed)
    CheckVerdict(allowed=False, reason='refuted: cases are not assigned ... at random within strata (SL202).')
    >>> bool(permission("instrument", "features", skewed))
    True
    """
    require_choice("given", given, GIVEN)
    if isinstance(assumption, Assumption) and isinstance(whole := named(assumption), Combination):
        about = [each for each in results if each.family != ALGEBRA or each.name.endswith(f"({whole.name})")]
        return whole.permission(Findings(tuple(about)), given)
    name = assumption.name if isinstance(assumption, Assumption) else assumption
    require_choice("assumption", name, tuple(each.name for each in known() if each.questions))
    return named(assumption).permission(Findings(tuple(results)), given)


NORMAL = 1.96
FIRST_STAGE = "first stage"
# With more decision-makers, their names would overlap.
MOST_NAMES = 30


def draw(figures: "Figures", kind: str, ax: Any = None) -> Any:
    """Draw one kind of plot and return the axes."""
    kinds = {"leniency": _leniency, "labels": _labels, "strength": _strength, "balance": _balance}
    require_choice("kind", kind, (*kinds, FIRST_STAGE))
    ax = new_axes() if ax is None else ax
    kinds[kind](figures, ax)
    return ax


def _leniency(figures: "Figures", ax: Any) -> None:
    _by_decision_maker(figures, figures.leniency, figures.leniency_error, ax)
    ax.set(ylabel="acceptance rate (adjusted for strata)", title="Leniency, with 95 % intervals")


def _balance(figures: "Figures", ax: Any) -> None:
    _by_decision_maker(figures, figures.balance, figures.balance_error, ax)
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set(
        ylabel="mean predicted decision of the cases (standard deviations)",
        title="Balance: intervals should cover zero",
    )


def _labels(figures: "Figures", ax: Any) -> None:
    leniency, rate = _needed(figures.leniency), _needed(figures.label_rate)
    error = _needed(figures.label_rate_error)
    ax.errorbar(leniency, rate[:, -1], NORMAL * error[:, -1], fmt="o", elinewidth=0.8)
    ax.set(
        xlabel="acceptance rate",
        ylabel=f"share of {figures.classes.tolist()[-1]!r} among labeled cases",
        title="Leniency against observed labels",
    )


def _strength(figures: "Figures", ax: Any) -> None:
    strength = _needed(figures.strength)
    ax.hist(np.sqrt(np.maximum(strength, 0.0)), bins=40)
    ax.set(
        xlabel="standard deviation of leniency over decision-makers, given features (0: none found)",
        ylabel="cases",
        title="Conditional strength",
    )


def _first_stage(strength: "InstrumentStrength", ax: Any) -> None:
    leniency, decision, labeled = strength.binned()
    for values, mark, name in (
        (decision, "o", "decided yes"),
        (labeled, "s", f"decided yes and labeled {strength.event}"),
    ):
        (line,) = ax.plot(leniency, values, mark, label=name)
        slope, level = np.polyfit(leniency, values, 1)
        ax.plot(leniency, slope * leniency + level, color=line.get_color(), linewidth=1)
    ax.set(
        xlabel="leave-one-out leniency (net of controls)",
        ylabel="share of cases",
        title="First stage, by decision-maker or in twenty bins",
    )
    ax.legend(frameon=False)


def _by_decision_maker(
    figures: "Figures", values: np.ndarray | None, errors: np.ndarray | None, ax: Any
) -> None:
    value, error = _needed(values), _needed(errors)
    order = np.argsort(value)
    position = np.arange(len(order))
    ax.errorbar(position, value[order], NORMAL * error[order], fmt="o", elinewidth=0.8)
    if len(order) <= MOST_NAMES:
        names = [str(name) for name in figures.decision_makers[order].tolist()]
        ax.set_xticks(position, names, rotation=90)
    ax.set_xlabel("decision-makers")


def _needed(values: Item | None) -> Item:
    if values is None:
        raise UndefinedError("this could not be computed from the sample; the findings say why.", "kind")
    return values


@dataclass(frozen=True, eq=False)
class Figures:
    """Numbers behind the plots; None where they could not be computed.

    Attributes
    ----------
    decision_makers : (n_decision_makers,) array
    leniency, leniency_error : (n_decision_makers,) arrays
        Acceptance rates, adjusted for strata.
    label_rate, label_rate_error : (n_decision_makers, n_classes) arrays
        Shares of classes among labeled cases.
    classes : (n_classes,) array
    strength : (n_model_rows,) array
        Conditional variance of leniency, V(x).
    balance, balance_error : (n_decision_makers,) arrays
        Mean predicted decision of each decision-maker's cases, in standard deviations.
    """

    decision_makers: np.ndarray
    classes: np.ndarray
    leniency: np.ndarray | None = None
    leniency_error: np.ndarray | None = None
    label_rate: np.ndarray | None = None
    label_rate_error: np.ndarray | None = None
    strength: np.ndarray | None = None
    balance: np.ndarray | None = None
    balance_error: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Display):
    """Results of all checks on a sample, and verdicts on the assumptions.

    Iterating gives the :class:`CheckResult` of every check; printing gives the verdicts and a table.

    Attributes
    ----------
    n_samples, n_decision_makers, n_model_rows : int
        Models were fitted on `n_model_rows` of the cases; everything else uses all cases.
    sharing : str
        Which cases the checks compare, if labels are shared within groups or the table is partitioned; else
        empty.
    strength : InstrumentStrength or None
        First-stage F, leave-out leniency, UJIVE and Sargan; None where there is no first stage.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> diagnosis = sl.diagnose(data, n_permutations=19, random_state=0)
    >>> next(iter(diagnosis)).code, diagnosis.status("relevance"), diagnosis.allows("unconfounded").allowed
    ('SL101', 'ok', False)
    """

    results: tuple[CheckResult, ...]
    n_samples: int
    n_decision_makers: int
    n_model_rows: int
    figures: Figures = field(repr=False)
    sharing: str = ""
    strength: "InstrumentStrength | None" = field(default=None, repr=False)

    def __iter__(self) -> Iterator[CheckResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, code: str) -> CheckResult:
        """Return the result of the check with this code, such as "SL101"."""
        for result in self.results:
            if result.code == code:
                return result
        raise KeyError(f"{code!r} is not the code of a check.")

    def status(self, family: str) -> str:
        """Worst status among the checks of a family that applied; "not applicable" if none did.

        Parameters
        ----------
        family : "relevance", "assignment", "overlap", "inequality", "monotonicity", "nucem", "crossing",
            "skill", "unconfounded" or "algebra"
        """
        require_choice("family", family, (*FAMILIES, ALGEBRA, MATURITY))
        return worst(result.status for result in self.results if result.family == family)

    def allows(self, assumption: str | Assumption, *, given: str = "strata") -> CheckVerdict:
        """Whether an assumption may be used with this sample, and why.

        Parameters
        ----------
        assumption : "instrument", "nucem", "unconfounded", or an assumption object, including combinations
        given : "strata" or "features"
            For "instrument": what assignment is taken as random within.

        Returns
        -------
        CheckVerdict
            True as a condition if the assumption is allowed, never where it is refuted or doubtful. The text,
            `reason`, starts with the verdict: "refuted", "doubtful", "not refuted" (with what the checks
            could have detected) or "cannot be checked". "unconfounded" is never allowed: a check that does
            not reject does not prove it.
        """
        return permission(assumption, given, self.results)

    @property
    def verdict(self) -> str:
        """Verdicts on the assumptions, one line each."""
        return "\n".join(verdict_lines(self))

    def to_frame(self) -> pd.DataFrame:
        """Data frame with one row for each check."""
        return pd.DataFrame([vars(result) for result in self.results])

    def pasted(self) -> list[pd.DataFrame]:
        """Printed table of the checks."""
        return [pd.DataFrame(_rows(self), columns=list(HEADINGS))]

    def notes(self) -> list[str]:
        """Verdicts on the assumptions, and the sample."""
        return [*verdict_lines(self), _headline(self)]

    def plot(self, kind: str = "leniency", ax: Any = None) -> Any:
        """Draw one of five plots and return the matplotlib axes.

        Parameters
        ----------
        kind : "leniency", "labels", "strength", "first stage" or "balance"
            Leniency with confidence intervals; leniency against the observed share of the last class;
            conditional strength; decision and label against leave-one-out leniency, by decision-maker or in
            twenty bins; balance of cases across decision-makers.
        ax : matplotlib axes, optional
        """
        if kind == FIRST_STAGE:
            ax = new_axes() if ax is None else ax
            _first_stage(_needed(self.strength), ax)
            return ax
        return draw(self.figures, kind, ax)

    def text(self) -> str:
        """The verdicts, and the checks one by one."""
        return text(self)

    def html(self) -> str:
        """The same for a notebook."""
        return html(self)
