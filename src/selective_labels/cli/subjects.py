"""What is judged: a column of predicted classes or scores, a model, a class for everybody, the human."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.cli.inputs import HUMAN, OTHERS, Loaded, contestant
from selective_labels.cli.stakes import OF_SCORES, Stakes
from selective_labels.data import class_code
from selective_labels.features.amounts import read_numbers
from selective_labels.measures.subject import read_subject
from selective_labels.policies.policy import TEAMS, UNDECIDED, Policy
from selective_labels.saving import SavedModel
from selective_labels.support.words import several, shown
from selective_labels.tables import TableError
from selective_labels.tables.predicted import classes_of, numbers_of, predictions_of

HALF = 0.5


@dataclass(frozen=True, eq=False)
class Judging:
    """A table, and how what is judged on it becomes classes or decisions.

    Attributes
    ----------
    loaded : Loaded
    stakes : Stakes
    pos_label : class or None
        The failure.
    team : str or None
        What the human has to say: "both", "either", "undecided", or a column of what is left to the human.
    """

    loaded: Loaded
    stakes: Stakes
    pos_label: Any
    team: str | None = None

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes of the label."""
        return self.loaded.classes

    @property
    def failure(self) -> int:
        """Code of the failure."""
        return class_code(self.pos_label, self.classes)

    def of_column(self, column: str, option: str, *, with_team: bool = False) -> Any:
        """A column of predictions, as the metrics need it."""
        values = predictions_of(self.loaded.frame, column, option)
        if self.stakes.by_policy:
            classes = classes_of(values, self.classes)
            risk = (
                numbers_of(values, column, option)
                if classes is None
                else classes == self.classes[self.failure]
            )
            return self._policy(risk.astype(float), with_team)
        if set(self.stakes.metrics) <= {*OF_SCORES}:
            return self._scores(values, column, option)
        classes = classes_of(values, self.classes)
        if self.stakes.cut.threshold is not None and classes is None:
            return self._cut(numbers_of(values, column, option))
        if classes is None:
            raise TableError(self._hint(values, column, option))
        return classes

    def of_parts(self, given: Any, *, with_team: bool = False) -> Any:
        """A model, or the name of a column, on a table in partitions."""
        if not self.stakes.by_policy:
            return given
        cut, team = self.stakes.cut, self.team if with_team else None
        if team is not None and team not in TEAMS[:2]:
            raise TableError(
                f"--with-human {shown(team)} needs rows in memory; on a table in partitions give "
                f"{' or '.join(TEAMS[:2])}."
            )
        return Policy(given, acceptance=cut.acceptance, threshold=cut.threshold, with_human=team)

    def of_model(self, saved: SavedModel, *, with_team: bool = False) -> Any:
        """A model, as the metrics need it."""
        if self.stakes.by_policy:
            return self._policy(saved, with_team)
        if self.stakes.cut.threshold is None:
            return saved
        subject = read_subject(saved, self.loaded.prepared.data, "model")
        if not subject.has_scores:
            raise TableError("--threshold needs scores, and this model has none; leave it out.")
        scores, threshold = subject.score(self.failure), self.stakes.cut.threshold
        if not scores.min() < threshold <= scores.max():
            # A cut that was meant for the column beside it would make one class of everybody.
            raise TableError(
                f"--threshold {threshold:g} gives every case one class: scores of this model are "
                f"{scores.min():.2g} to {scores.max():.2g}. To cut a column only, let the model predict "
                "first (selective-labels predict) and give its predictions as a column, too."
            )
        return self._cut(scores)

    def of_class(self, label: Any, *, with_team: bool = False) -> Any:
        """One class for everybody; where costs count, it accepts everybody or nobody."""
        if not self.stakes.by_policy:
            return label
        if self.loaded.lazy is not None:
            raise TableError("One class for everybody is no policy on a table in partitions; give a column.")
        risk = np.full(len(self.loaded.frame), float(label == self.classes[self.failure]))
        if self.stakes.cost is None:
            return self._policy(risk, with_team)
        return Policy(risk, threshold=HALF, with_human=self._with_human(risk) if with_team else None)

    def _policy(self, score: Any, with_team: bool) -> Policy:
        cut = self.stakes.cut
        team = self._with_human(score) if with_team else None
        return Policy(score, acceptance=cut.acceptance, threshold=cut.threshold, with_human=team)

    def _with_human(self, score: Any) -> Any:
        if self.team is None or self.team in TEAMS[:2]:
            return self.team
        if self.team == UNDECIDED:
            if not isinstance(score, SavedModel):
                raise TableError("--with-human undecided needs a model file as --a: no column says where.")
            features = score.schema.read(self.loaded.prepared.X)
            return ~np.asarray(score.model.decided(features), dtype=bool)
        values = predictions_of(self.loaded.frame, self.team, "--with-human")
        deferred = numbers_of(values, self.team, "--with-human").astype(float)
        if not ((deferred >= 0.0) & (deferred <= 1.0)).all():
            raise TableError(f"--with-human {shown(self.team)} must hold 0 and 1, or shares between them.")
        return deferred

    def _cut(self, scores: np.ndarray) -> np.ndarray:
        failure, other = self.classes[self.failure], self.classes[1 - self.failure]
        return np.where(scores >= self.stakes.cut.threshold, failure, other)

    def _scores(self, values: np.ndarray, column: str, option: str) -> np.ndarray:
        """Scores of the failure; where probabilities are asked for, with two classes, those of both."""
        scores = numbers_of(values, column, option).astype(float)
        if set(self.stakes.metrics) == {"auc"} or len(self.classes) != 2:
            return scores
        if not ((scores >= 0.0) & (scores <= 1.0)).all():
            name = next(name for name in self.stakes.metrics if name != "auc")
            raise TableError(f"{option} {shown(column)}: {name} needs probabilities between 0 and 1.")
        both = np.column_stack([1.0 - scores, scores])
        return both if self.failure == 1 else both[:, ::-1]

    def _hint(self, values: np.ndarray, column: str, option: str) -> str:
        name = next(name for name in self.stakes.metrics if name not in OF_SCORES)
        words = several([str(each) for each in self.classes])
        strange = [
            str(each) for each in pd.unique(pd.Series(values)) if str(each) not in map(str, self.classes)
        ]
        if pd.api.types.is_numeric_dtype(values) or read_numbers(pd.Series(values)).numbers.notna().all():
            failure = shown(self.classes[self.failure])
            return (
                f"{option} {shown(column)} holds scores ({several(strange, 2)}), and {name} needs classes "
                f"({words}): give --threshold NUMBER, from which on a score means {failure}, or ask for "
                "--metric auc, or for --metric failures with --acceptance SHARE."
            )
        return f"{option} {shown(column)} holds {several(strange, 3)}, and the classes are {words}."


def holds_scores(loaded: Loaded, columns: Sequence[str | None]) -> bool:
    """Whether one of several columns, as far as they are columns, holds numbers that are not classes."""
    classes = loaded.prepared.data.classes
    for column in columns:
        if column is None or column not in loaded.frame.columns:
            continue
        values = loaded.frame[column].dropna()
        if classes_of(values.to_numpy(), classes) is None and read_numbers(values).numbers.notna().all():
            return True
    return False


def contender(
    judging: Judging, given: str, option: str, models: dict[str, SavedModel], *, with_team: bool = False
) -> Any:
    """What --a or --b means, as the metrics need it; see :func:`selective_labels.cli.inputs.contestant`."""
    if judging.loaded.lazy is not None and (given in judging.loaded.frame.columns or given in models):
        return judging.of_parts(models.get(given, given), with_team=with_team)
    if given in judging.loaded.frame.columns:
        return judging.of_column(given, option, with_team=with_team)
    if given in models:
        return judging.of_model(models[given], with_team=with_team)
    found = contestant(given, option, judging.loaded.frame, judging.classes, models)
    human = isinstance(found, str) and found == HUMAN and option in OTHERS
    return HUMAN if human else judging.of_class(found, with_team=with_team)
