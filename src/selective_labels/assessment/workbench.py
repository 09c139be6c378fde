"""What several sections need and is made once: the verdict, the two rules, the scored sample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from selective_labels.assessment.cases import Cases
from selective_labels.assessment.columns import Column
from selective_labels.assessment.contenders import Contender, robust_classifier, usual_practice
from selective_labels.assessment.diagnosis import Basis, basis_of, diagnosis_part
from selective_labels.assessment.sections import Part, SectionStore, compute_part
from selective_labels.assessment.wording import full_sentence
from selective_labels.assumptions import Assumption, known
from selective_labels.data import SelectiveLabels
from selective_labels.inference.sample import ScoredSample, score_sample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.measures.named import named_metrics
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError

SEEDS = ("rows", "halves", "yours", "ours", "diagnosis", "scores", "sensitivity", "others")


@dataclass(frozen=True)
class Settings:
    """How models are fitted.

    Attributes
    ----------
    nuisance, cv, n_jobs
        As for :class:`selective_labels.UCLClassifier`.
    seeds : dict of int
        One for each use, so that a section has the same numbers whatever was computed before it.
    """

    nuisance: Any
    cv: Any
    n_jobs: int | None
    seeds: dict[str, int]

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords of everything that fits nuisance models."""
        return {"nuisance": self.nuisance, "cv": self.cv, "n_jobs": self.n_jobs}


def spawn_seeds(random_state: int | None) -> dict[str, int]:
    """One seed for each use; the checks have the seed itself, so that they say what `diagnose` says with it.

    Examples
    --------
    >>> spawn_seeds(0) == spawn_seeds(0), len(set(spawn_seeds(0).values()))
    (True, 8)
    """
    numbers = np.random.SeedSequence(random_state).generate_state(len(SEEDS))
    seeds = dict(zip(SEEDS, numbers.tolist(), strict=True))
    return seeds if random_state is None else seeds | {"diagnosis": random_state}


@dataclass(eq=False)
class Workbench:
    """Cases with what is known of them, each made when first asked for.

    Attributes
    ----------
    table : SelectiveLabels
        All rows as they were given, for the checks.
    everybody : Cases
        All rows, with the classes that the user's model knows, for counts and leniency.
    cases : Cases
        The rows on which rules are learned and judged.
    columns : list of Column
        The features of these rows, for people.
    event : int
        Code of the class that is the failure.
    metrics : list of metric objects
    cost : matrix or None
        C[true, predicted] over the sorted classes.
    settings : Settings
    given : Contender or None
        The user's rule, if there is one.
    classifiers : list
        Fitted classifiers of the user: the classes that they know count as classes.
    store : SectionStore or None
    rungs : sequence of Assumption
        What the ladder climbs; empty if nothing was assumed.
    periods : (n_samples,) array or None
        When each case was decided.
    notes : list of str
        What should be said about how the rules were learned and the sample scored.
    """

    table: SelectiveLabels
    everybody: Cases
    cases: Cases
    columns: list[Column]
    event: int
    metrics: Sequence[AnyMetric]
    cost: Any
    settings: Settings
    given: Contender | None
    classifiers: list[Any]
    store: SectionStore | None
    rungs: Sequence[Assumption] = ()
    periods: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def diagnosis(self) -> Part:
        """All checks, on all rows."""
        settings = self.settings
        seed = settings.seeds["diagnosis"]
        return compute_part(
            "diagnosis", lambda: diagnosis_part(self.table, seed=seed, **settings.keywords), self.store
        )

    @cached_property
    def basis(self) -> Basis:
        """The weakest assumption that the checks allow; none is needed if every label is seen."""
        if self.everybody.data.decision.all():
            return Basis("none", "all seen", "Every outcome was seen.")
        return basis_of(self.diagnosis.content)

    @property
    def yours(self) -> Contender:
        """The user's rule, or the usual practice; raises with the reason if there is none."""
        return _or_raise(self._yours)

    @property
    def ours(self) -> Contender:
        """Our rule; raises with the reason if there is none."""
        return _or_raise(self._ours)

    @property
    def contenders(self) -> list[Contender]:
        """The rules that there are; raises if there is none."""
        found = [each for each in (self._yours, self._ours) if isinstance(each, Contender)]
        return found or [self.yours]

    @property
    def teammate(self) -> Contender:
        """The rule that shares the work with people: the user's if it has a score, else ours."""
        given = self.given
        return given if given is not None and given.scores is not None else self.ours

    @cached_property
    def main_metric(self) -> AnyMetric:
        """What the two rules are compared by: costs if they are known, else accuracy."""
        classes = self.cases.data.classes
        return named_metrics("accuracy" if self.cost is None else "cost", classes, cost=self.cost)[0]

    def seeds(self, key: str) -> np.ndarray:
        """Seeds of something that is learned on the two halves; all share these."""
        own = np.random.SeedSequence(self.settings.seeds[key]).generate_state(2)
        return np.array([self.settings.seeds["halves"], *own])

    @cached_property
    def sample(self) -> ScoredSample:
        """Scores under all named assumptions that the input allows."""
        return self.scored.under([each.name for each in known() if each.name in self.scored.assumptions])

    @cached_property
    def scored(self) -> ScoredSample:
        """Scores under these and the rungs of the ladder, from the same models."""
        several = self.cases.data.n_decision_makers > 1
        named = [each for each in known() if several or not each.needs_decision_makers]
        try:
            return self._score(list(dict.fromkeys([*named, *self.rungs])))
        except InputError as error:
            sample = self._score([each for each in known() if not each.needs_decision_makers])
            self.notes.append(
                f"Assumptions about decision-makers cannot be used. {full_sentence(str(error))}"
            )
            return sample

    @property
    def assumption(self) -> str:
        """The weakest assumption that is allowed, if the sample could be scored under it."""
        return self.basis.assumption if self.basis.assumption in self.sample.assumptions else "none"

    @cached_property
    def _yours(self) -> Contender | str:
        if self.given is not None:
            return self.given
        return self._learned("yours", lambda seeds: usual_practice(self.cases, self.event, seeds, self.cost))

    @cached_property
    def _ours(self) -> Contender | str:
        keywords = self.settings.keywords | {"cost": self.cost}
        return self._learned(
            "ours", lambda seeds: robust_classifier(self.cases, self.event, seeds, **keywords)
        )

    def _learned(self, key: str, learn: Callable[[np.ndarray], Contender]) -> Contender | str:
        """Learn a rule, or take it from the store; the reason if it cannot be learned."""
        seeds = self.seeds(key)
        part = compute_part(f"predictions of {key}", lambda: Part(learn(seeds).to_dict()), self.store)
        self.notes += part.notes
        return part.content.get("missing") or Contender.from_dict(part.content)

    def _score(self, assumption: Any) -> ScoredSample:
        fitting = FittingSettings(**self.settings.keywords, seed=self.settings.seeds["scores"])
        return score_sample(self.cases.data, self.classifiers, assumption, fitting=fitting)


def _or_raise(contender: Contender | str) -> Contender:
    if isinstance(contender, str):
        raise InputError(contender)
    return contender
