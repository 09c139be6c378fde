"""Run the commands about people who decide: advice, deciders and disparity."""

from typing import Any

from selective_labels._display import Described
from selective_labels._errors import TableError, shown
from selective_labels.assumptions.parse import Assumed
from selective_labels.cli.console import working
from selective_labels.cli.decider_commands import AdviceOptions, InferenceOptions
from selective_labels.cli.inputs import Loaded, Source, costs_of, read_costs, require_level
from selective_labels.cli.options import FittingOptions
from selective_labels.cli.output import View, curve_view
from selective_labels.cli.run_evaluation import subgroups_of
from selective_labels.cli.verdicts import deciders_verdict, first_answer
from selective_labels.evaluation.deciders import Deciders
from selective_labels.evaluation.functions import advice, deciders, disparity
from selective_labels.evaluation.results import plain
from selective_labels.io.prepare import pos_label_of, predictions_of
from selective_labels.io.table_roles import require_column


def weigh_advice(
    source: Source,
    columns: tuple[str, str],
    options: AdviceOptions,
    inference: InferenceOptions,
    fitting: FittingOptions,
) -> View:
    """Compare people with and without advice, and the advice alone."""
    given, (advised, shown_where) = read_costs(options), columns
    loaded = _load(source, inference, *columns, options.by)
    cost = costs_of(given, loaded, pos_label_of(inference.pos_label, loaded.classes))
    for column, option in ((advised, "--advice"), (shown_where, "--shown")):
        require_column(loaded.frame, column, option)
    with working():
        found = advice(
            loaded.prepared.data,
            advice=loaded.frame[advised],
            shown=loaded.frame[shown_where],
            high=None if options.high is None else options.high.value,
            by=None if options.by is None else subgroups_of(loaded.frame, options.by),
            cost=cost,
            **_keywords(loaded, inference, fitting),
        )
    content = {"advice": advised, "shown": shown_where, "shown_share": found.shown_share}
    return _view("advice", loaded, content, inference, found)


def compare_deciders(
    source: Source,
    score: str | None,
    anonymous: bool,
    inference: InferenceOptions,
    fitting: FittingOptions,
) -> View:
    """Compare decision-makers with each other and with a score."""
    loaded = _load(source, inference, score)
    with working():
        found = deciders(
            loaded.prepared.data,
            score=_score(loaded, score),
            anonymous=anonymous,
            **_keywords(loaded, inference, fitting),
        )
    against = found.against_score
    content = {
        "score": score,
        "anonymous": anonymous,
        "slope": found.effects.slope,
        "share_beaten": None if against is None else list(against.share),
        "share_beaten_interval": None if against is None else list(against.share_interval),
    }
    return _view("deciders", loaded, content, inference, found)


def compare_groups(
    source: Source,
    groups: tuple[str, str | None],
    score: str | None,
    inference: InferenceOptions,
    fitting: FittingOptions,
) -> View:
    """Bound gaps between groups."""
    by, reference = groups
    loaded = _load(source, inference, score)
    column = subgroups_of(loaded.frame, by)
    known = {str(each): each for each in column.dropna().unique().tolist()}
    if reference is not None and reference not in known:
        words = ", ".join(map(shown, known))
        raise TableError(f"--reference {shown(reference)} is not in {shown(by)}, which has {words}.")
    with working():
        found = disparity(
            loaded.prepared.data,
            by=column,
            score=_score(loaded, score),
            reference=None if reference is None else known[reference],
            **_keywords(loaded, inference, fitting),
        )
    content = {"by": by, "reference": plain(found.reference), "score": score}
    return _view("disparity", loaded, content, inference, found)


def _load(source: Source, inference: InferenceOptions, *columns: str | None) -> Loaded:
    require_level(inference.confidence_level)
    return source.load([], list(columns))


def _score(loaded: Loaded, score: str | None) -> Any:
    return None if score is None else predictions_of(loaded.frame, score, "--score")


def _keywords(loaded: Loaded, inference: InferenceOptions, fitting: FittingOptions) -> dict[str, Any]:
    names = () if inference.assume else [inference.assumption.value]
    assumed = Assumed.read(inference.assume, names)
    return {
        "pos_label": pos_label_of(inference.pos_label, loaded.classes),
        "assumption": assumed.listed(loaded.classes)[0],
        "confidence_level": inference.confidence_level,
        "cluster": None if inference.cluster is None else inference.cluster.value,
        **fitting.keywords,
    }


def _view(
    command: str, loaded: Loaded, content: dict[str, Any], inference: InferenceOptions, found: Described
) -> View:
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in found.to_frame().to_dict("records")
    ]
    content = content | {
        "confidence_level": inference.confidence_level,
        "rows": rows,
        "sentences": found.sentences(),
    }
    verdict = deciders_verdict(found) if isinstance(found, Deciders) else first_answer(found)
    return curve_view(command, loaded, content, rows, found, verdict, found.sentences())
