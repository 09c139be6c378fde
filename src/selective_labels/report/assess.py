"""Assess a table: compute every section of a report and collect the sections in one document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any, TypedDict, Unpack

import numpy as np

from selective_labels._errors import InputError
from selective_labels._parallel import with_progress
from selective_labels._validation import Models, Roles, as_seed, split_keywords
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.parse import known
from selective_labels.data.named_costs import cost_matrix, question_transposed
from selective_labels.data.reading import read_data
from selective_labels.data.roles import GivenRoles, as_series
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.evaluator import Evaluator
from selective_labels.evaluation.ladder import ladder_steps
from selective_labels.evaluation.metrics import AnyMetric, named_metrics
from selective_labels.evaluation.periods import read_periods
from selective_labels.evaluation.prediction_check import with_doubts
from selective_labels.evaluation.scored_rows import ALL, ScoredSample, chosen_assumptions
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.report.cases import (
    Cases,
    Column,
    feature_columns,
    read_subgroups,
    rows_to_judge,
    table_section,
)
from selective_labels.report.curves import (
    NOTHING_ASSUMED,
    acceptance_part,
    check_assumptions,
    comparators_part,
    drift_part,
    ladder_part,
    outlook_part,
    reversed_part,
    sensitivity_part,
    subgroups_part,
    team_part,
)
from selective_labels.report.diagnosis import Basis, basis_of, diagnosis_part, leniency_part
from selective_labels.report.document import Part, SectionStore, TableDescription, compute_part, full_sentence
from selective_labels.report.people import Questions, people_part, read_questions
from selective_labels.report.rules import (
    ReportedRule,
    answers_part,
    chosen_metrics,
    comparison_part,
    decided_part,
    given_model,
    given_predictions,
    models_part,
    robust_classifier,
    usual_practice,
)
from selective_labels.report.summary import summarise
from selective_labels.report.wording import PEOPLE

SEEDS = ("rows", "halves", "yours", "ours", "diagnosis", "scores", "others")


@dataclass(frozen=True)
class Settings:
    """Settings of all models that a report fits.

    Attributes
    ----------
    nuisance, cv, n_jobs
        As for :class:`selective_labels.UCLClassifier`.
    seeds : dict of int
        One seed for each use, so that the numbers of a section do not depend on what was computed before.
    """

    nuisance: Any
    cv: Any
    n_jobs: int | None
    seeds: dict[str, int]

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments for functions that fit nuisance models."""
        return {"nuisance": self.nuisance, "cv": self.cv, "n_jobs": self.n_jobs}


def spawn_seeds(random_state: int | None) -> dict[str, int]:
    """Derive one seed for each use; checks and scores use `random_state` itself.

    So they reproduce `diagnose` and `evaluate`.

    Examples
    --------
    >>> spawn_seeds(0) == spawn_seeds(0), len(set(spawn_seeds(0).values()))
    (True, 6)
    """
    numbers = np.random.SeedSequence(random_state).generate_state(len(SEEDS))
    seeds = dict(zip(SEEDS, numbers.tolist(), strict=True))
    return seeds if random_state is None else seeds | {"diagnosis": random_state, "scores": random_state}


@dataclass(eq=False)
class Workbench:
    """Cases, rules and models that the sections share; each is computed on first use.

    Attributes
    ----------
    table : SelectiveLabels
        All rows as they were given, for the checks.
    everybody : Cases
        All rows, with the classes that the user's model knows, for counts and leniency.
    cases : Cases
        The rows on which rules are learned and evaluated.
    columns : list of Column
        The features of these rows, as they are shown to readers.
    event : int
        Code of the class that is the failure.
    cost : matrix or None
        C[true, predicted] over the sorted classes.
    given : ReportedRule or None
        The user's rule, if there is one.
    classifiers : list
        The user's fitted classifiers. Classes that they know count as classes, even if no case here has them.
    assumption_steps : sequence of Assumption
        Assumptions of the ladder, from weak to strong; empty if the user gave none.
    periods : (n_samples,) array or None
        When each case was decided.
    notes : list of str
        Notes on how the rules were learned and the sample was scored.
    doubts : list of str
        Why results on the given predictions are doubtful.
    questions : mapping
        What is asked about people who decide: columns and settings by keyword.
    """

    table: SelectiveLabels
    everybody: Cases
    cases: Cases
    columns: list[Column]
    event: int
    metrics: Sequence[AnyMetric]
    cost: Any
    settings: Settings
    given: ReportedRule | None
    classifiers: list[Any]
    store: SectionStore | None
    assumption_steps: Sequence[Assumption] = ()
    periods: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    questions: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def diagnosis(self) -> Part:
        """Results of all checks, on all rows."""
        settings = self.settings
        seed = settings.seeds["diagnosis"]
        return compute_part(
            "diagnosis", lambda: diagnosis_part(self.table, seed=seed, **settings.keywords), self.store
        )

    @cached_property
    def basis(self) -> Basis:
        """The weakest assumption that the checks allow; none is needed if every label is observed."""
        if self.everybody.data.labeled.all():
            return Basis("none", "all seen", "Every outcome was seen.")
        return basis_of(self.diagnosis.content)

    @property
    def yours(self) -> ReportedRule:
        """The user's rule, or a classifier trained on labeled cases; raises `InputError` if there is none."""
        return _or_raise(self._yours)

    @property
    def ours(self) -> ReportedRule:
        """The robust rule; raises `InputError` if it could not be learned."""
        return _or_raise(self._ours)

    @property
    def rules(self) -> list[ReportedRule]:
        """The available rules; raises `InputError` if there is none."""
        found = [each for each in (self._yours, self._ours) if isinstance(each, ReportedRule)]
        return found or [self.yours]

    @property
    def teammate(self) -> ReportedRule:
        """The rule to combine with the decision-makers: the user's if it has scores, else ours."""
        given = self.given
        return given if given is not None and given.scores is not None else self.ours

    @cached_property
    def main_metric(self) -> AnyMetric:
        """The metric that compares the two rules: cost if a cost matrix is given, else accuracy."""
        classes = self.cases.data.classes
        return named_metrics("accuracy" if self.cost is None else "cost", classes, cost=self.cost)[0]

    def seeds(self, key: str) -> np.ndarray:
        """Seeds for cross-fitting on two halves: one for the split, which is shared, and one for each fit."""
        own = np.random.SeedSequence(self.settings.seeds[key]).generate_state(2)
        return np.array([self.settings.seeds["halves"], *own])

    @cached_property
    def evaluator(self) -> Evaluator:
        """Nuisance models of all rows, fitted once for all numbers in the report."""
        data = self.cases.data
        named = chosen_assumptions(ALL, data.n_decision_makers > 1, worst_case=data.worst_case)
        try:
            return self._evaluator(list(dict.fromkeys([*named, *self.assumption_steps])))
        except InputError as error:
            found = self._evaluator(chosen_assumptions(ALL, False, worst_case=data.worst_case))
            self.notes.append(
                f"Assumptions about decision-makers cannot be used. {full_sentence(str(error))}"
            )
            return found

    def check_predictions(self) -> None:
        """Raise an error for predictions that depend on who decides, and keep the doubts about others."""
        if self.given is None:
            return
        given: Any = self.given.codes if self.given.scores is None else self.given.scores
        if self.given.scores is None:
            given = self.cases.data.classes[given]
        subject = self.classifiers[0] if self.classifiers else given
        part = compute_part(
            "doubts about predictions", lambda: Part(self.evaluator.doubts(subject)), self.store
        )
        if isinstance(part.content, dict):
            raise InputError(part.content["missing"], "predictions")
        self.doubts = part.content
        self.notes += part.notes

    @property
    def scored(self) -> ScoredSample:
        """Scores under all named assumptions that the input allows, and under the steps of the ladder."""
        return with_doubts(self.evaluator.scores(), self.doubts)

    @cached_property
    def sample(self) -> ScoredSample:
        """Scores under the named assumptions."""
        return self.scored.under([each.name for each in known() if each.name in self.scored.assumptions])

    @property
    def assumption(self) -> str:
        """The weakest assumption that is allowed, or "none" if the sample could not be scored under it."""
        return self.basis.assumption if self.basis.assumption in self.sample.assumptions else "none"

    @cached_property
    def _yours(self) -> ReportedRule | str:
        if self.given is not None:
            return self.given
        return self._learned("yours", lambda seeds: usual_practice(self.cases, self.event, seeds, self.cost))

    @cached_property
    def _ours(self) -> ReportedRule | str:
        keywords = self.settings.keywords | {"cost": self.cost}
        return self._learned(
            "ours", lambda seeds: robust_classifier(self.cases, self.event, seeds, **keywords)
        )

    def _learned(self, key: str, learn: Callable[[np.ndarray], ReportedRule]) -> ReportedRule | str:
        """Learn a rule or take it from the store; return the reason if it cannot be learned."""
        seeds = self.seeds(key)
        part = compute_part(f"predictions of {key}", lambda: Part(learn(seeds).to_dict()), self.store)
        self.notes += part.notes
        return part.content.get("missing") or ReportedRule.from_dict(part.content)

    def _evaluator(self, assumption: Any) -> Evaluator:
        seed = self.settings.seeds["scores"]
        found = Evaluator(self.cases.data, assumption=assumption, random_state=seed, **self.settings.keywords)
        found.scores()  # raise here if an assumption cannot be scored
        return found


def _or_raise(rule: ReportedRule | str) -> ReportedRule:
    if isinstance(rule, str):
        raise InputError(rule)
    return rule


SCHEMA_VERSION = 2
# A report takes about as long as three cross-fits of all rows: the evaluation is one, the two rules on
# halves are one together, and the checks are one.
WHOLE_FITS = 3
# The expected time of a report is said from this many seconds on.
SAID_FROM = 20.0


class Publishing(TypedDict, total=False):
    """Keywords that say how a report is presented and stored.

    description : TableDescription
        Names for readers; taken from the table if not given.
    sections : object with ``get(name)`` and ``put(name, section)``
        Stores finished sections, so that the same call with the same `random_state` can resume. Empty it when
        anything else changes.
    """

    description: TableDescription | None
    sections: SectionStore | None


class ReportSettings(Roles, Models, Publishing, Questions, total=False):
    """Keywords of a report: roles, models, presentation, and sections that are asked for."""


def assess(
    X: Any,
    y: Any = None,
    *,
    predictions: Any = None,
    model: Any = None,
    trained_elsewhere: bool = False,
    by: Any = None,
    metric: Any = None,
    pos_label: Any = None,
    cost: Any = None,
    threshold: float | None = None,
    assumptions: Any = (),
    period: Any = None,
    every: str | None = None,
    cases_per_year: float | None = None,
    **settings: Unpack[ReportSettings],
) -> dict[str, Any]:
    """Assess a table and two classification rules: compute everything that a report shows.

    The document has the sections "data", "summary", "diagnosis", "leniency", "answers", "models",
    "comparison", "ladder", "outlook", "comparators", "acceptance", "team", "decided", "sensitivity" and
    "subgroups"; ``docs/schemas/report.schema.json`` describes it. A section that cannot be computed from the
    data is ``{"missing": reason}``.

    Two rules are evaluated: "yours" (`predictions` or `model`; without them a classifier trained on the
    labeled cases only, which is common practice) and "ours" (:class:`selective_labels.UCLClassifier`, partial
    mode). Rules that are learned here are cross-fitted: each half of the cases is predicted by a rule learned
    on the other half. The first figures, the acceptance rates, the subgroups and the summary use the weakest
    assumption that the checks allow: the instrument if the diagnosis allows it, else none. Assignment
    probabilities come from a model where it predicts the decision-maker better than shares do. With `groups`,
    standard errors are clustered by group.

    The computation takes one `diagnose`, two fits of each rule on half of the rows, and one cross-fit of all
    rows; everything else is arithmetic. Above 50,000 rows, and without `strata`, rules are learned and
    evaluated on a random sample of 50,000 rows; counts, leniency and the checks use all rows.

    Parameters
    ----------
    X, y
        As in :func:`selective_labels.evaluate`: features and labels, or a SelectiveLabels alone.
    predictions : (n_samples,) classes, or (n_samples, n_classes) probabilities, optional
        With two classes also (n_samples,) probabilities of the event, or any score that increases with its
        risk. The most probable class is predicted. With `cost`, or if a score is not a probability, the rule
        accepts the cases with the lowest scores, as many as were accepted in the data.
    model : fitted classifier, optional
        Give it instead of `predictions`.
    trained_elsewhere : bool
        Whether `model` was trained on other cases. If not, the document warns that its numbers may be
        optimistic.
    by : column or frame of columns, optional
        Subgroups: the six most frequent values of a category and the rest, or the quartiles of a number.
    metric : name, metric object, or list of these, optional
        As in `evaluate`. Default: accuracy, true and false positive rate, prevalence and predictive value of
        the event; with more than two classes accuracy, and prevalence and recall of each class.
    pos_label : class label, optional
        The event (failure). Default: the last class.
    cost : (n_classes, n_classes) array or dict, optional
        C[true, predicted] over the sorted classes, or costs by name as in :func:`selective_labels.evaluate`.
        The robust rule minimizes this cost, the two rules are compared by it, and it is added to the metrics.
    threshold : float, optional
        Scores of `predictions` or `model` from here on predict the event. Default: one half of a probability;
        of other scores, or with `cost`, the cut at which as many cases are accepted as were.
    assumptions : name or object of :mod:`selective_labels.assumptions`, or a list of these
        Assumptions in addition to the instrument, from weak to strong. The section "ladder" shows how much
        each of them narrows the bounds, as :func:`selective_labels.ladder` does.
    period : (n_samples,) dates or periods, optional
        Adds the section "drift": acceptance, labels and bounds over time.
    every : "month", "quarter" or "year", optional
        Length of the periods that dates are grouped into.
    cases_per_year : float, optional
        With `cost`: the headline says what a change costs or saves in a year of so many cases.
    **settings
        Roles as in :class:`selective_labels.Evaluator`; `nuisance`, `cv` (a number of folds), `n_jobs` and
        `random_state` as for :class:`selective_labels.UCLClassifier` (the checks use "logistic" by default);
        `description` and `sections`, see :class:`Publishing`. `advice` with `shown`, `deciders` and
        `disparity` add sections about people who decide, see :class:`Questions`.

    Returns
    -------
    dict
        JSON-serializable.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(600, n_classes=2, random_state=0)
    >>> document = assess(sample.X, sample.y, decision_maker=sample.decision_maker, nuisance="logistic", cv=2,
    ...                   random_state=0)
    >>> document["data"]["n_cases"], [each["key"] for each in document["models"]]
    (600, ['yours', 'ours'])
    """
    roles, models, shown, asked = split_keywords("assess", settings, Roles, Models, Publishing, Questions)
    description: TableDescription = shown.get("description") or TableDescription()
    sections = shown.get("sections")
    nuisance, cv, n_jobs = models.get("nuisance"), models.get("cv", 5), models.get("n_jobs")
    data = read_data(X, y, GivenRoles(**roles))
    if not data.decision_makers_given:
        raise InputError("decision_maker is missing: a report is about who decided.", "decision_maker")
    columns = feature_columns(data)
    kinds = {column.name: column.kind for column in columns}
    cases = Cases(data, read_subgroups(by, data, kinds))
    how = Settings(nuisance, cv, n_jobs, spawn_seeds(as_seed(models.get("random_state"))))
    rule = _UserRule(predictions, model, trained_elsewhere, description.rule)
    how_costs = data.classes, class_code(pos_label, data.classes), data.decision_means
    question_transposed(cost, *how_costs)
    if cases_per_year is not None:
        if cost is None:
            raise InputError("cases_per_year turns costs into those of a year: give cost=.", "cases_per_year")
        if not 0.0 < cases_per_year < np.inf:
            raise InputError.about("cases_per_year", f"is {cases_per_year!r}; it must be a positive number.")
    policy_measures = _Stakes(metric, pos_label, cost_matrix(cost, *how_costs), threshold)
    periods = None if period is None else read_periods(period, every, len(data))
    bench = _open_workbench(cases, columns, rule, policy_measures, how, sections, assumptions, periods)
    rows = rows_to_judge(bench.everybody, how.seeds["rows"])
    bench.questions = read_questions(asked, len(data), rows)
    if sections is None or sections.get("models") is None:
        FittingSettings(nuisance, cv=cv).warn_of_runtime(bench.cases.data, WHOLE_FITS, SAID_FROM)
    bench.check_predictions()
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
        "summary": summarise(facts, contents, bench.basis, cases_per_year),
        **contents,
    }


@dataclass(frozen=True)
class _UserRule:
    """The user's predictions or model; an error in them stops the assessment."""

    predictions: Any
    model: Any
    trained_elsewhere: bool
    name: str | None

    def __post_init__(self) -> None:
        if self.predictions is not None and self.model is not None:
            raise InputError("predictions and model are both given; give one of them.", "predictions")

    @property
    def classifiers(self) -> list[Any]:
        """The user's fitted classifiers, whose classes count as classes."""
        return [] if self.model is None else [self.model]

    def reported(
        self, cases: Cases, rows: np.ndarray, n_samples: int, event: int, stakes: "_Stakes"
    ) -> ReportedRule | None:
        """The user's rule on some of the `n_samples` rows."""
        if self.model is not None:
            return given_model(self.model, cases, event, self.trained_elsewhere, self.name, stakes.threshold)
        if self.predictions is None:
            if stakes.threshold is not None:
                raise InputError("threshold cuts scores: give predictions or a model with it.", "threshold")
            return None
        one_column = np.ndim(self.predictions) != 2
        values = as_series(self.predictions, "predictions", n_samples) if one_column else self.predictions
        if len(values) != n_samples:
            raise InputError.about("predictions", f"has {len(values)} rows and X has {n_samples}.")
        name = self.name or getattr(self.predictions, "name", None)
        called = None if name is None else str(name)
        how = stakes.cost, stakes.threshold
        return given_predictions(np.asarray(values)[rows], cases, event, called, *how)


@dataclass(frozen=True)
class _Stakes:
    """Metrics, the event, the cost matrix and the threshold of scores."""

    metric: Any
    pos_label: Any
    cost: Any
    threshold: float | None = None


def _open_workbench(
    everybody: Cases,
    columns: list[Column],
    rule: _UserRule,
    policy_measures: "_Stakes",
    settings: Settings,
    store: SectionStore | None,
    assumptions: Any,
    periods: np.ndarray | None,
) -> Workbench:
    """Choose rows, event and metrics, and read the user's rule. Nothing is fitted yet."""
    rows = rows_to_judge(everybody, settings.seeds["rows"])
    cases = everybody.take(rows).with_classes_of(rule.classifiers)
    classes = cases.data.classes
    event = class_code(policy_measures.pos_label, classes)
    objects, notes = chosen_metrics(policy_measures.metric, classes, event, policy_measures.cost)
    assumption_steps = ladder_steps(assumptions, everybody.data.n_decision_makers > 1) if assumptions else []
    check_assumptions(assumption_steps, cases.data)
    return Workbench(
        table=everybody.data,
        everybody=everybody.with_classes_of(rule.classifiers),
        cases=cases,
        columns=[column.take(rows) for column in columns],
        event=event,
        metrics=objects,
        cost=policy_measures.cost,
        settings=settings,
        given=rule.reported(cases, rows, len(everybody), event, policy_measures),
        classifiers=rule.classifiers,
        store=store,
        assumption_steps=assumption_steps,
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
    """Map each section to the function that computes it, in order of cost; shared results are cached."""
    weights, columns = bench.cases.weights, bench.columns

    def models() -> Part:
        part = models_part(bench.sample, bench.rules, bench.metrics, bench.event)
        # Notes on how rules were learned and the sample was scored go with the first section that uses them.
        return Part(part.content, (*part.notes, *bench.notes))

    def sensitivity() -> Part:
        # The scores of the curve assume random assignment within strata.
        dealt_out = bench.basis.given == "strata" and bench.assumption == bench.basis.assumption
        limit = bench.assumption if dealt_out else "none"
        return sensitivity_part(bench.evaluator, bench.cases, bench.yours, limit, bench.event, bench.cost)

    def ladder() -> Part:
        if not bench.assumption_steps:
            raise InputError(NOTHING_ASSUMED, "assumptions")
        how = bench.metrics, bench.event, bench.assumption_steps
        contest = (bench.ours, bench.main_metric) if len(bench.rules) > 1 else None
        return ladder_part(bench.scored, bench.yours, *how, contest)

    def subgroups() -> Part:
        if not bench.cases.by:
            raise InputError("No column of subgroups was named.", "by")
        names = list(dict.fromkeys(["none", bench.assumption]))
        return subgroups_part(bench.sample, bench.rules, bench.metrics, bench.cases.by, names, bench.event)

    def drift() -> Part:
        assert bench.periods is not None
        how = bench.event, bench.assumption, bench.periods
        return drift_part(bench.sample, bench.yours, bench.metrics, *how)

    def people(name: str) -> Part:
        how = {"assumption": bench.assumption, "pos_label": bench.cases.data.classes[bench.event]}
        score = None if bench.given is None else bench.given.scores
        return people_part(name, bench.evaluator, bench.questions, score, how, bench.cost)

    def comparators() -> Part:
        how = bench.main_metric, bench.event, bench.assumption, bench.seeds("others"), bench.cost
        return comparators_part(bench.sample, bench.cases, bench.rules, *how)

    def team() -> Part:
        how = bench.ours.decided, bench.event, bench.assumption, bench.cost
        return reversed_part(bench.sample, bench.rules, bench.event) or team_part(
            bench.sample, bench.teammate, *how
        )

    return {
        "leniency": lambda: leniency_part(bench.everybody.data, bench.event),
        "models": models,
        "answers": lambda: answers_part(
            bench.sample, bench.rules, bench.main_metric, bench.event, bench.assumption
        ),
        "comparison": lambda: comparison_part(
            bench.sample, bench.yours, bench.ours, columns, bench.main_metric
        ),
        "ladder": ladder,
        "outlook": lambda: outlook_part(
            bench.sample, bench.yours, bench.ours, bench.main_metric, bench.assumption
        ),
        "acceptance": lambda: acceptance_part(
            bench.sample, bench.rules, bench.event, bench.assumption, bench.cost
        ),
        "team": team,
        "comparators": comparators,
        "decided": lambda: decided_part(bench.ours, columns, weights),
        "sensitivity": sensitivity,
        "subgroups": subgroups,
        **({} if bench.periods is None else {"drift": drift}),
        **{name: partial(people, name) for name in PEOPLE if name in bench.questions},
    }


def _compute(bench: Workbench) -> dict[str, Part]:
    """Compute every section that the store does not have yet."""
    steps = _steps(bench)
    names = ["diagnosis", *steps]
    computed = (
        bench.diagnosis if name == "diagnosis" else compute_part(name, steps[name], bench.store)
        for name in names
    )
    return dict(zip(names, with_progress(computed, "assessing", len(names)), strict=True))
