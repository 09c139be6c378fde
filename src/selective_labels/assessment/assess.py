"""Everything that a report says, in one document."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np

from selective_labels.assessment.acceptance import acceptance_part
from selective_labels.assessment.answers import answers_part
from selective_labels.assessment.cases import Cases, read_subgroups, rows_to_judge
from selective_labels.assessment.columns import Column, feature_columns
from selective_labels.assessment.comparators import comparators_part
from selective_labels.assessment.comparison import comparison_part
from selective_labels.assessment.contenders import Contender, given_model, given_predictions
from selective_labels.assessment.decided import decided_part
from selective_labels.assessment.description import TableDescription
from selective_labels.assessment.drift import drift_part
from selective_labels.assessment.ladder import NOTHING_ASSUMED, check_assumptions, ladder_part
from selective_labels.assessment.leniency import leniency_part
from selective_labels.assessment.metrics import chosen_metrics
from selective_labels.assessment.models import models_part
from selective_labels.assessment.outlook import outlook_part
from selective_labels.assessment.sections import Part, SectionStore, compute_part
from selective_labels.assessment.sensitivity import sensitivity_part
from selective_labels.assessment.subgroups import subgroups_part
from selective_labels.assessment.summary import summarise
from selective_labels.assessment.table import table_section
from selective_labels.assessment.team import reversed_part, team_part
from selective_labels.assessment.workbench import Settings, Workbench, spawn_seeds
from selective_labels.curves.ladder import rungs_of
from selective_labels.data import GivenRoles, as_series, class_code, read_data
from selective_labels.measures.periods import read_periods
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError
from selective_labels.support.progress import followed
from selective_labels.support.seeding import as_seed

SCHEMA_VERSION = 2
# What a report fits takes about as long as so many cross-fits of all rows: two, two on halves, one on halves
# for the checks.
WHOLE_FITS = 4


def assess(
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    predictions: Any = None,
    model: Any = None,
    trained_elsewhere: bool = False,
    by: Any = None,
    metric: Any = None,
    pos_label: Any = None,
    cost: Any = None,
    nuisance: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    description: TableDescription | None = None,
    sections: SectionStore | None = None,
    assignment: Any = None,
    assumptions: Any = (),
    period: Any = None,
    every: str | None = None,
) -> dict[str, Any]:
    """Say what a table can tell, and how good two rules are on everybody: all that a report shows.

    The document has the sections "data", "summary", "diagnosis", "leniency", "answers", "models",
    "comparison", "ladder", "outlook", "comparators", "acceptance", "team", "decided", "sensitivity" and
    "subgroups"; ``docs/schemas/report.schema.json`` describes it. A section that the data do not allow is
    ``{"missing": reason}``.

    Two rules are judged: "yours" (`predictions` or `model`; without them the usual practice, a classifier
    trained on the labeled cases) and "ours" (:class:`selective_labels.UCLClassifier`, partial mode). What is
    learned here is learned on one half of the cases and judged on the other, and the reverse. The weakest
    allowed assumption serves for the first figures, acceptance, subgroups and the summary: the instrument if
    the diagnosis allows it (a model of who decides is used where it beats shares), else none. With `groups`,
    standard errors take each group as one.

    Costs one `diagnose`, two fits of each rule on half of the rows, and two cross-fits (for scores and for
    sensitivity); everything else is arithmetic. Beyond 50,000 rows, and without `strata`, rules are learned
    and judged on a random 50,000 of them; counts, leniency and the checks use all.

    Parameters
    ----------
    X, y, decision_maker, decision, sample_weight, groups, strata, assignment
        As in :func:`selective_labels.evaluate`: roles one by one, or a SelectiveLabels alone.
    predictions : (n_samples,) classes, or (n_samples, n_classes) probabilities, optional
        Of two classes also (n_samples,) probabilities of the event, or any score that is higher for it. The
        most probable class is predicted; with `cost`, or where a score is no probability, as many cases are
        accepted as were, those with the lowest scores.
    model : fitted classifier, optional
        Instead of `predictions`.
    trained_elsewhere : bool
        Whether `model` was trained on other cases than these; if not, the document says what that means.
    by : column or frame of columns, optional
        Subgroups: values of categories (the commonest six, and the others), quartiles of numbers.
    metric : name, metric object, or list of these, optional
        As in `evaluate`. Default: accuracy, true and false positive rate, share and predictive value of the
        event; with more than two classes accuracy, and share and recognition rate of each class.
    pos_label : class label, optional
        The event, or failure. Default: the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted] over the sorted classes. Our rule is learned for it, the two rules are compared by
        it, and it is among the metrics.
    nuisance, n_jobs, random_state
        As for :class:`selective_labels.UCLClassifier`. The checks use "logistic" by default.
    cv : int
    description : TableDescription, optional
        Names for people; read from the table if not given.
    sections : object with ``get(name)`` and ``put(name, section)``, optional
        Keeps finished sections: the same call with the same `random_state` then resumes. It must be emptied
        when anything else changes.
    assumptions : name or object of :mod:`selective_labels.assumptions`, or a list of these
        What is known besides the instrument, from weak to strong: the section "ladder" says what each of them
        buys, as :func:`selective_labels.ladder` does.
    period : (n_samples,) dates or periods, optional
        Adds the section "drift": acceptance, labels and bounds over time.
    every : "month", "quarter" or "year", optional
        What dates are cut into.

    Returns
    -------
    dict
        Of plain values; ``json.dumps`` takes it.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(600, n_classes=2, random_state=0)
    >>> document = assess(sample.X, sample.y, decision_maker=sample.decision_maker, nuisance="logistic", cv=2,
    ...                   random_state=0)
    >>> document["data"]["n_cases"], [each["key"] for each in document["models"]]
    (600, ['yours', 'ours'])
    """
    description = TableDescription() if description is None else description
    data = read_data(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    if not data.decision_makers_given:
        raise InputError("decision_maker is missing: a report is about who decided.", "decision_maker")
    columns = feature_columns(data)
    kinds = {column.name: column.kind for column in columns}
    cases = Cases(data, read_subgroups(by, data, kinds))
    settings = Settings(nuisance, cv, n_jobs, spawn_seeds(as_seed(random_state)))
    rule = _UserRule(predictions, model, trained_elsewhere, description.rule)
    stakes = _Stakes(metric, pos_label, cost)
    periods = None if period is None else read_periods(period, every, len(data))
    bench = _open_workbench(cases, columns, rule, stakes, settings, sections, assumptions, periods)
    if sections is None or sections.get("models") is None:
        FittingSettings(nuisance, cv=cv).say_beforehand(bench.cases.data, WHOLE_FITS)
    parts = _compute(bench)
    notes = [*bench.notes, *(note for part in parts.values() for note in part.notes)]
    facts = table_section(bench.everybody, columns, description, notes, bench.event)
    contents = {name: part.content for name, part in parts.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "package_version": version("selective-labels"),
        "title": description.title,
        "created": date.today().isoformat(),
        "command": description.command,
        "data": facts,
        "summary": summarise(facts, contents, bench.basis),
        **contents,
    }


@dataclass(frozen=True)
class _UserRule:
    """What the user wants to know about; a mistake in it stops everything."""

    predictions: Any
    model: Any
    trained_elsewhere: bool
    name: str | None

    def __post_init__(self) -> None:
        if self.predictions is not None and self.model is not None:
            raise InputError("predictions and model are both given; give one of them.", "predictions")

    @property
    def classifiers(self) -> list[Any]:
        """Fitted classifiers, whose classes count as classes."""
        return [] if self.model is None else [self.model]

    def contender(
        self, cases: Cases, rows: np.ndarray, n_samples: int, event: int, cost: Any
    ) -> Contender | None:
        """The rule on some rows of `n_samples`."""
        if self.model is not None:
            return given_model(self.model, cases, event, self.trained_elsewhere, self.name)
        if self.predictions is None:
            return None
        one_column = np.ndim(self.predictions) != 2
        values = as_series(self.predictions, "predictions", n_samples) if one_column else self.predictions
        if len(values) != n_samples:
            raise InputError.about("predictions", f"has {len(values)} rows and X has {n_samples}.")
        name = self.name or getattr(self.predictions, "name", None)
        called = None if name is None else str(name)
        return given_predictions(np.asarray(values)[rows], cases, event, called, cost)


@dataclass(frozen=True)
class _Stakes:
    """What is asked about the rules: metrics, the event, and what mistakes cost."""

    metric: Any
    pos_label: Any
    cost: Any


def _open_workbench(
    everybody: Cases,
    columns: list[Column],
    rule: _UserRule,
    stakes: "_Stakes",
    settings: Settings,
    store: SectionStore | None,
    assumptions: Any,
    periods: np.ndarray | None,
) -> Workbench:
    """Choose rows, event and metrics, and read the user's rule; nothing is fitted yet."""
    rows = rows_to_judge(everybody, settings.seeds["rows"])
    cases = everybody.take(rows).with_classes_of(rule.classifiers)
    classes = cases.data.classes
    event = class_code(stakes.pos_label, classes)
    objects, notes = chosen_metrics(stakes.metric, classes, event, stakes.cost)
    rungs = rungs_of(assumptions, everybody.data.n_decision_makers > 1) if assumptions else []
    check_assumptions(rungs, cases.data)
    return Workbench(
        table=everybody.data,
        everybody=everybody.with_classes_of(rule.classifiers),
        cases=cases,
        columns=[column.take(rows) for column in columns],
        event=event,
        metrics=objects,
        cost=stakes.cost,
        settings=settings,
        given=rule.contender(cases, rows, len(everybody), event, stakes.cost),
        classifiers=rule.classifiers,
        store=store,
        rungs=rungs,
        periods=None if periods is None else periods[rows],
        notes=[*notes, *_notes_about_rows(everybody, cases)],
    )


def _notes_about_rows(everybody: Cases, cases: Cases) -> list[str]:
    notes = []
    if len(cases) < len(everybody):
        notes.append(
            f"Rules were learned and judged on a random {len(cases):,} of the {len(everybody):,} cases; "
            "counts, leniency and the checks use all."
        )
    if cases.data.groups is not None:
        notes.append("Standard errors take each group of repeated cases as one unit.")
    return notes


def _steps(bench: Workbench) -> dict[str, Callable[[], Part]]:
    """One function for each section, in the order of their cost; what they share is made by the first."""
    weights, columns = bench.cases.weights, bench.columns

    def models() -> Part:
        part = models_part(bench.sample, bench.contenders, bench.metrics)
        # How rules were learned and the sample scored is kept with the first section that shows it.
        return Part(part.content, (*part.notes, *bench.notes))

    def sensitivity() -> Part:
        # Its scores take decision-makers to be dealt out within strata.
        dealt_out = bench.basis.given == "strata" and bench.assumption == bench.basis.assumption
        limit = bench.assumption if dealt_out else "none"
        settings = bench.settings.keywords | {"random_state": bench.settings.seeds["sensitivity"]}
        return sensitivity_part(bench.cases.data, bench.yours, limit, bench.event, bench.cost, **settings)

    def ladder() -> Part:
        if not bench.rungs:
            raise InputError(NOTHING_ASSUMED, "assumptions")
        return ladder_part(bench.scored, bench.yours, bench.metrics, bench.event, bench.rungs)

    def subgroups() -> Part:
        if not bench.cases.by:
            raise InputError("No column of subgroups was named.", "by")
        names = list(dict.fromkeys(["none", bench.assumption]))
        return subgroups_part(
            bench.sample, bench.contenders, bench.metrics, bench.cases.by, names, bench.event
        )

    def drift() -> Part:
        assert bench.periods is not None
        how = bench.event, bench.assumption, bench.periods
        return drift_part(bench.sample, bench.yours, bench.metrics, *how)

    def comparators() -> Part:
        how = bench.main_metric, bench.event, bench.assumption, bench.seeds("others"), bench.cost
        return comparators_part(bench.sample, bench.cases, bench.contenders, *how)

    def team() -> Part:
        how = bench.ours.decided, bench.event, bench.assumption, bench.cost
        return reversed_part(bench.sample, bench.contenders, bench.event) or team_part(
            bench.sample, bench.teammate, *how
        )

    return {
        "leniency": lambda: leniency_part(bench.everybody.data, bench.event),
        "models": models,
        "answers": lambda: answers_part(
            bench.sample, bench.contenders, bench.main_metric, bench.event, bench.assumption
        ),
        "comparison": lambda: comparison_part(
            bench.sample, bench.yours, bench.ours, columns, bench.main_metric
        ),
        "ladder": ladder,
        "outlook": lambda: outlook_part(
            bench.sample, bench.yours, bench.ours, bench.main_metric, bench.assumption
        ),
        "acceptance": lambda: acceptance_part(
            bench.sample, bench.contenders, bench.event, bench.assumption, bench.cost
        ),
        "team": team,
        "comparators": comparators,
        "decided": lambda: decided_part(bench.ours, columns, weights),
        "sensitivity": sensitivity,
        "subgroups": subgroups,
        **({} if bench.periods is None else {"drift": drift}),
    }


def _compute(bench: Workbench) -> dict[str, Part]:
    """Compute every section that the store does not have yet."""
    steps = _steps(bench)
    names = ["diagnosis", *steps]
    computed = (
        bench.diagnosis if name == "diagnosis" else compute_part(name, steps[name], bench.store)
        for name in names
    )
    return dict(zip(names, followed(computed, "assessing", len(names)), strict=True))
