"""The page's fixed words: what metrics, assumptions and statuses are called outside the field."""

import re
from dataclasses import dataclass

from selective_labels.assumptions import known


@dataclass(frozen=True)
class Term:
    """A name and what it means.

    Attributes
    ----------
    title : str
    meaning : str
        One sentence, or nothing.
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
# The shape tells a status apart without colour; the word tells it without the shape.
MEASURES = {
    "failure_rate": Term("{event} among the accepted", "Of the accepted cases."),
    "failures": Term("Accepted and {event}", "Of all cases."),
    "good_lost": Term("Refused without need", "Of all cases: refused, though not {event}."),
    "cost": Term("Cost", "Mean cost of a case; lower is better."),
}
WAYS = {
    "human": "{makers} alone, as now",
    "score": "the score alone, accepting as many",
    "both": "accepted if {maker} and score both accept",
    "either": "accepted if {maker} or score accepts",
    "undecided": "the {maker} where the data leave the answer open, the score elsewhere",
}
SHAPES = {"ok": "tick", "warning": "triangle", "violated": "cross", "not applicable": "dash"}
# A verdict looks like the status that it comes from.
VERDICTS = {"refuted": "violated", "not refuted": "ok", "cannot be checked": "not applicable"}
STATUS_WORDS = {
    "ok": "nothing against it",
    "warning": "warning",
    "violated": "violated",
    "not applicable": "not tested",
}


def metric(name: str) -> Term:
    """Words for a metric; a metric of the user's own keeps its name.

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
    """Whether a metric is the share of a class, which no model enters.

    Examples
    --------
    >>> is_about_cases("share"), is_about_cases("share of 'high'"), is_about_cases("tpr")
    (True, True, False)
    """
    return name == "share" or name.startswith("share of ")


def assumption(name: str) -> Term:
    """Words for an assumption.

    Examples
    --------
    >>> assumption("none").title
    'Nothing assumed'
    """
    return assumptions().get(name, Term(name))


def assumptions() -> dict[str, Term]:
    """Words for all assumptions by name, in the order in which they are shown.

    Examples
    --------
    >>> list(assumptions())
    ['none', 'instrument', 'nucem', 'unconfounded']
    """
    return {each.name: Term(each.title, each.meaning) for each in known()}
