"""Fixed texts of the page: names of metrics, assumptions and statuses, and formats of numbers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from selective_labels._display import digits
from selective_labels._vocabulary import Vocabulary
from selective_labels.assumptions.parse import known

# Maximum length of a name, and of its longer version in a tooltip.
SHORT, LONG = 48, 300
SENTENCE = 1500
NOTHING = "–"
Show = Callable[[float | None], str]
# The bounds and the confidence interval that every result in the document has.
ENDS = ("lower", "upper", "ci_lower", "ci_upper")
# Sections about people who decide, which are asked for.
PEOPLE = {
    "advice": "Did the advice help?",
    "deciders": "Who decides well?",
    "disparity": "Are groups treated alike?",
}
# Metrics that are shown as plain numbers although they may lie between 0 and 1, because they are not shares.
NUMBERS = {"auc", "f1", "brier", "regret", "cost", "log_loss"}


def cut(text: Any, width: int = SHORT) -> str:
    r"""Shorten text to one line of at most `width` characters.

    Examples
    --------
    >>> cut("two\nlines"), cut("abcdefgh", 5)
    ('two lines', 'abcd…')
    """
    # Only the beginning is read, because a cell may hold megabytes.
    words = " ".join(str(text)[: 4 * width].split())
    return words if len(words) <= width else words[: width - 1].rstrip() + "…"


def sentence(text: Any) -> str:
    """Free text, shortened only beyond the length of any sentence."""
    return cut(text, SENTENCE)


def percent(value: float | None) -> str:
    """Share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.1234), percent(None)
    ('12.3%', '–')
    """
    return NOTHING if value is None else f"{100.0 * value:.1f}%"


def percent_tick(value: float) -> str:
    """Tick label for a share.

    Examples
    --------
    >>> percent_tick(0.25), percent_tick(0.125)
    ('25%', '12.5%')
    """
    return f"{100.0 * value:.3g}%".replace("-", "−")


def number(value: float | None) -> str:
    """Number with four significant digits, or with all digits before the decimal point.

    Examples
    --------
    >>> number(0.123456), number(12), number(-0.5), number(12345.6)
    ('0.1235', '12', '−0.5', '12,346')
    """
    if value is None:
        return NOTHING
    return digits(value).replace("-", "−")


def p_value(value: float | None) -> str:
    """P-value with three decimals; smaller values are not shown as zero.

    Examples
    --------
    >>> p_value(0.25), p_value(1e-9), p_value(None)
    ('0.250', '< 0.001', '–')
    """
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int) -> str:
    """Count with thousands separators.

    Examples
    --------
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def points(value: float | None) -> str:
    """Difference between two shares in percentage points, with its sign.

    Examples
    --------
    >>> points(-0.0261), points(0.5)
    ('−2.6', '+50.0')
    """
    return NOTHING if value is None else f"{100.0 * value:+.1f}".replace("-", "−")


def span(low: float | None, high: float | None, show: Show = percent) -> str:
    """Interval as text; one number if both ends are shown alike.

    Examples
    --------
    >>> span(0.25, 0.5), span(0.25, 0.25), span(None, 1.0)
    ('25.0% to 50.0%', '25.0%', '–')
    """
    if low is None or high is None:
        return NOTHING
    first, second = show(low), show(high)
    return first if first == second else f"{first} to {second}"


def is_share(result: Mapping[str, Any]) -> bool:
    """Whether a result is a share or a difference between shares, judged by its possible values.

    Examples
    --------
    >>> is_share({"metric": "tpr", "limits": [0.0, 1.0]}), is_share({"metric": "cost", "limits": [0.0, None]})
    (True, False)
    """
    return result["limits"] in ([0.0, 1.0], [-1.0, 1.0]) and result["metric"] not in NUMBERS


def is_difference(result: Mapping[str, Any]) -> bool:
    """Whether a result compares two subgroups or two models.

    Examples
    --------
    >>> is_difference({"verdict": "a"}), is_difference({"subgroup": "old", "reference": "young"})
    (True, True)
    """
    return "verdict" in result or result.get("reference") is not None


def identified(result: Mapping[str, Any]) -> str:
    """Identified interval as text; says so if the bounds cross.

    Examples
    --------
    >>> identified({"metric": "tpr", "limits": [0.0, 1.0], "lower": 0.6, "upper": 0.5})
    'ends cross: 60.0% to 50.0%'
    """
    if result["lower"] is None and result.get("reason"):
        return "no value"
    words = _words(result, result["lower"], result["upper"])
    return f"ends cross: {words}" if is_empty(result["lower"], result["upper"]) else words


def confidence(result: Mapping[str, Any]) -> str:
    """Confidence interval as text; says so if it is empty.

    Examples
    --------
    >>> confidence({"metric": "tpr", "limits": [0.0, 1.0], "ci_lower": 0.6, "ci_upper": 0.5})
    'no value fits'
    """
    low, high = result["ci_lower"], result["ci_upper"]
    if low is None and result.get("reason"):
        return "no interval"
    return "no value fits" if is_empty(low, high) else _words(result, low, high)


def is_empty(low: float | None, high: float | None) -> bool:
    """Whether the lower end of an interval exceeds the upper end.

    Examples
    --------
    >>> is_empty(0.2, 0.1), is_empty(None, 0.1)
    (True, False)
    """
    return low is not None and high is not None and low > high


def _words(result: Mapping[str, Any], low: float | None, high: float | None) -> str:
    if not is_share(result):
        return span(low, high, number)
    if not is_difference(result):
        return span(low, high)
    words = span(low, high, points)
    return words if words == NOTHING else f"{words} points"


DEFAULT = {
    "event": "the event",
    "maker": "decision-maker",
    "makers": "decision-makers",
    "accepted": "accepted",
    "refused": "refused",
}
# Texts of a page, and what is none: scripts, styles, code and tags.
NO_TEXT = re.compile(
    r"(<script\b.*?</script>|<style\b.*?</style>|<code\b.*?</code>|<pre\b.*?</pre>|<[^>]*>)", re.DOTALL
)
TEXT_OF_TAGS = re.compile(r'(?<=\s)((?:aria-label|title|alt|data-doing)=")([^"]*)(?=")')


def vocabulary_of(document: Mapping[str, Any]) -> Vocabulary:
    """The words of the document's domain.

    Examples
    --------
    >>> vocabulary_of({"data": {"vocabulary": {"case": "claim"}}}).cases
    'claims'
    """
    return Vocabulary(**(document.get("data") or {}).get("vocabulary", {}))


def page_in_words(page: str, vocabulary: Vocabulary) -> str:
    """A page of neutral words in the words of a domain: its texts, not its scripts, styles and code.

    Examples
    --------
    >>> words = Vocabulary("claim", yes="investigate", means="inspect")
    >>> page_in_words('<p class="case" title="Accepted cases">A case in <code>case.csv</code></p>', words)
    '<p class="case" title="Investigated claims">A claim in <code>case.csv</code></p>'
    """
    parts = NO_TEXT.split(page)
    return "".join(
        TEXT_OF_TAGS.sub(lambda found: found[1] + vocabulary.say(found[2]), part)
        if place % 2
        else vocabulary.say(part)
        for place, part in enumerate(parts)
    )


SPOKEN = re.compile(r"(?<![\w“])(\d[\d,]* )?([Dd])ecision-maker(s?)")


def words_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The table's words for its event, decision-makers and decisions.

    Examples
    --------
    >>> words_of({})["makers"]
    'decision-makers'
    """
    data = document.get("data") or {}
    return DEFAULT | {name: cut(word) for name, word in data.get("words", {}).items()}


def say(text: Any, words: Mapping[str, str]) -> str:
    """Replace "decision-maker" by the table's word, and fill in the placeholders of a text.

    Examples
    --------
    >>> words = DEFAULT | {"event": "lost", "maker": "judge", "makers": "judges"}
    >>> say("Decision-makers differ, and no decision-maker is alike: {event}.", words)
    'Judges differ, and no judge is alike: “lost”.'
    """
    spoken = SPOKEN.sub(lambda found: _word(found, words), str(text))
    for name, word in words.items():
        spoken = spoken.replace(f"{{{name}}}", f"“{word}”" if name == "event" else word)
    return spoken


def capital(text: str) -> str:
    """Capitalize the first letter."""
    return text[:1].upper() + text[1:]


def _word(found: re.Match[str], words: Mapping[str, str]) -> str:
    count, first, many = found[1] or "", found[2], found[3]
    word = words["makers"] if many else words["maker"]
    return count + (capital(word) if first == "D" else word)


@dataclass(frozen=True)
class Term:
    """A name and what it means.

    Attributes
    ----------
    meaning : str
        One sentence, or empty.
    """

    title: str
    meaning: str = ""


METRICS = {
    "accuracy": Term("How often right", "Of all cases, the share that is given the right class (accuracy)."),
    "error": Term("Error", "Of all cases, the share that is given a wrong class."),
    "share": Term(
        "Share of the event", "Of all cases, the share in which the event happens. No model enters."
    ),
    "tpr": Term(
        "Event found",
        "Of the cases in which the event happens, the share that is flagged (true positive rate).",
    ),
    "fpr": Term(
        "Flagged in vain",
        "Of the cases in which it does not happen, the share that is flagged (false positive rate).",
    ),
    "ppv": Term("Flagged rightly", "Of the flagged cases, the share in which the event happens (precision)."),
    "f1": Term("F1", "Harmonic mean of precision and true positive rate."),
    "balanced_accuracy": Term("Balanced accuracy", "Mean over the classes of the share found."),
    "auc": Term("AUC", "How often a case with the event scores higher than one without."),
    "cost": Term("Cost", "Mean cost of a case; lower is better."),
    "log_loss": Term("Log-loss", "Quality of the probabilities; lower is better."),
    "brier": Term("Brier score", "Quality of the probabilities; lower is better."),
    "regret": Term("Regret", "Excess over the best possible classifier; lower is better."),
}
GIVEN = {"strata": "random within strata", "features": "random given the features"}
MEASURES = {
    "failure_rate": Term("{event} among the accepted", "Of the accepted cases."),
    "failures": Term("Accepted and {event}", "Of all cases."),
    "good_lost": Term("Refused without need", "Of all cases: refused, though not {event}."),
    "hit_rate": Term("{event} among the accepted", "Of the accepted cases; higher is better."),
    "missed": Term("Refused and {event}", "Of all cases: the event happens, and nobody looked."),
    "in_vain": Term("Accepted in vain", "Of all cases: accepted, though not {event}."),
    "cost": Term("Cost", "Mean cost of a case; lower is better."),
}
WAYS = {
    "human": "{makers} alone, as today",
    "score": "the score alone, accepting as many",
    "both": "accepted if {maker} and score both accept",
    "either": "accepted if {maker} or score accepts",
    "undecided": "the {maker} where the data leave the answer open, the score elsewhere",
}
# The shape distinguishes statuses without colour, and the word does so without the shape.
SHAPES = {"ok": "tick", "warning": "triangle", "violated": "cross", "not applicable": "dash"}
# The status whose symbol a verdict uses.
VERDICTS = {
    "refuted": "violated",
    "doubtful": "warning",
    "not refuted": "ok",
    "cannot be checked": "not applicable",
}
STATUS_WORDS = {
    "ok": "nothing against it",
    "warning": "warning",
    "violated": "violated",
    "not applicable": "not tested",
}


def metric(name: str) -> Term:
    """Title and meaning of a metric; a user-defined metric keeps its name.

    Examples
    --------
    >>> metric("tpr").title, metric("share of 'high'").title, metric("profit").title
    ('Event found', "Share of 'high'", 'profit')
    >>> metric("P(predicted 'high' | true 'high')").title
    "Recognised: 'high'"
    """
    if name in METRICS:
        return METRICS[name]
    if found := re.fullmatch(r"P\(predicted (.+) \| true \1\)", name):
        return Term(f"Recognised: {found[1]}", "Of the cases of this class, the share that is given it.")
    if is_about_cases(name):
        return Term(f"S{name[1:]}", "Of all cases, the share in this class. No model enters.")
    return Term(name)


def is_about_cases(name: str) -> bool:
    """Whether a metric is the share of a class, which does not depend on a model.

    Examples
    --------
    >>> is_about_cases("share"), is_about_cases("share of 'high'"), is_about_cases("tpr")
    (True, True, False)
    """
    return name == "share" or name.startswith("share of ")


def assumption(name: str) -> Term:
    """Title and meaning of an assumption.

    Examples
    --------
    >>> assumption("none").title
    'Nothing assumed'
    """
    return assumptions().get(name, Term(name))


def assumptions() -> dict[str, Term]:
    """Titles and meanings of all assumptions by name, in display order.

    Examples
    --------
    >>> list(assumptions())
    ['none', 'instrument', 'nucem', 'unconfounded']
    """
    return {each.name: Term(each.title, each.meaning) for each in known()}
