"""Model cards: what a fitted model is, what it assumes and guarantees, and its limits."""

from importlib.metadata import version
from typing import Any

from selective_labels._display import digits
from selective_labels._errors import InputError
from selective_labels.report.markdown import escaped, table

MODES = {
    "partial": "the worst that the missing labels could do is made as small as possible",
    "point": "class probabilities are the slopes of seen labels on leniency (NUCEM)",
    "tilt": "the odds among the refused are one multiple of those among comparable accepted cases",
    "auto": "labeled cases, unless the instrument or a stated direction tells more of the refused",
}
NOT_FOR = (
    "Cases unlike those that it was learned from, or decisions taken in another way.",
    "Saying why a case ends as it does, or what would change it.",
    "Showing that decisions are fair: rates in subgroups, equal or not, do not settle that.",
)


def model_card(model: Any, data: Any = None, *, title: str = "Model card") -> str:
    """Write a model card in Markdown.

    Parameters
    ----------
    model : fitted UCLClassifier
    data : SelectiveLabels, optional
        Training data; adds counts to the card.
    title : str

    Returns
    -------
    str

    Examples
    --------
    >>> import selective_labels as sl
    >>> loans = sl.datasets.make_loans(2000).table
    >>> data = sl.SelectiveLabels.from_frame(
    ...     loans, label="defaulted", decision="approved", decision_maker="officer",
    ...     features=["years_employed"])
    >>> model = sl.UCLClassifier("partial", "linear", nuisance="logistic", cv=2, random_state=0).fit(data)
    >>> card = model_card(model, data)
    >>> "worst-case regret" in card, "2,000 cases" in card
    (True, True)
    """
    if not hasattr(model, "mode"):
        raise InputError.about(
            "model", f"is a {type(model).__name__}; a card describes a fitted UCLClassifier."
        )
    parts = [
        f"# {escaped(title)}",
        "## What it is",
        _list(_what(model)),
        "## What it assumes",
        _list(_assumes(model)),
        "## What it promises",
        _list(_promises(model)),
    ]
    if data is not None:
        parts += ["## Learned from", _list(_learned_from(data))]
    parts += ["## Features", _features(model), "## Not for", _list(NOT_FOR)]
    parts.append(f"Made by selective-labels {version('selective-labels')}.")
    return "\n\n".join(parts) + "\n"


def _what(model: Any) -> list[str]:
    learner = model.estimator or "gradient boosting"
    classes = ", ".join(map(str, model.classes_.tolist()))
    cost = "all classes count alike" if isinstance(model.cost, str) else "every mistake counts alike"
    if model.cost_ is not None:
        cost = _costs(model)
    return [
        f"{type(model).__name__}, mode {model.mode}: {MODES.get(model.mode, model.mode)}.",
        *([model.mode_reason_] if hasattr(model, "mode_reason_") else ()),
        f"Learner: {learner}. Classes: {classes}. Learned for: {cost}.",
        "It predicts from features alone and never needs to know who decides.",
    ]


def _costs(model: Any) -> str:
    """The cost matrix in words, without what costs nothing."""
    classes, matrix = model.classes_.tolist(), model.cost_
    said = [
        f"predicting {guess} where {truth} is true costs {digits(matrix[row, column])}"
        for row, truth in enumerate(classes)
        for column, guess in enumerate(classes)
        if matrix[row, column] != 0.0
    ]
    return "; ".join(said) or "nothing costs anything"


def _assumes(model: Any) -> list[str]:
    said = [
        "Cases alike in features (and stratum, if given) reach decision-makers as if at random, and who "
        "decides does not change the label. Checks can contradict this and never prove it.",
    ]
    if getattr(model, "assumption", None) is not None:
        said.append(f"{'Stated' if model.mode == 'auto' else 'Besides'}: {model.assumption.sentence}")
    return said + [f"Caution: {each}" for each in getattr(model, "cautions_", ())]


def _promises(model: Any) -> list[str]:
    report = model.nuisance_report_
    return [
        f"If the assumption holds, a worst-case regret of at most {digits(model.worst_case_regret_upper_)} "
        f"(95 % upper limit; estimate {digits(model.worst_case_regret_)}): this is what it costs above the "
        "best rule, whatever the unseen labels are.",
        f"Model of decision and label: {report.chosen} ({report.settings}), chosen by held-out loss.",
        "How good it is on everybody is for `evaluate` to say, on cases that it was not learned from.",
    ]


def _learned_from(data: Any) -> list[str]:
    n_labeled = int(data.labeled.sum())
    return [
        f"{len(data):,} cases, {n_labeled:,} of them with a label ({n_labeled / len(data):.0%}), "
        f"{data.n_decision_makers:,} decision-makers.",
    ]


def _features(model: Any) -> str:
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{place}" for place in range(model.n_features_in_)] if names is None else names
    return table(("Feature",), [(str(name),) for name in names])


def _list(lines: Any) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)
