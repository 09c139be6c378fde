"""What the checks share: the sample, one cross-fit, its predictions; each computed when first asked for."""

import warnings
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from selective_labels.assumptions import Instrument, Nucem
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics.assignment_model import AssignmentModel, assignment_model
from selective_labels.diagnostics.predictions import CaseModel, RowModel, case_model, row_model
from selective_labels.diagnostics.results import Check, CheckResult, NotApplicableError, need
from selective_labels.hypotheses.cells import centred, decision_makers_per_cell
from selective_labels.hypotheses.permutation import Units, assignment_units
from selective_labels.identification.bounds import Bounds
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.per_row import identified_bounds
from selective_labels.nuisance.score_formulas import Scores
from selective_labels.nuisance.scores import cross_fit_scores
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError

# Models are fitted on this many rows at most; counts and permutations use all.
MODEL_ROWS = 50_000
# Up to this many strata, models know each stratum by an indicator.
FEW_STRATA = 20
FAST_MODEL = FittingSettings("logistic")


class Context:
    """A sample under examination.

    Parameters
    ----------
    data : SelectiveLabels
        With a float array of features, which may have no column.
    fitting : FittingSettings
        Its seed is that of permutations too.
    level : float
        Of every test.
    n_permutations : int
    fit : CrossFit, optional
        Models fitted in halves on all rows of `data`, to be used instead of new ones.

    Every attribute that cannot be computed raises `NotApplicableError` with the reason.
    """

    def __init__(
        self,
        data: SelectiveLabels,
        fitting: FittingSettings = FAST_MODEL,
        *,
        level: float = 0.05,
        n_permutations: int = 199,
        fit: CrossFit | None = None,
    ) -> None:
        self.level = level
        self.n_permutations = n_permutations
        self._fitting = fitting
        self._seeds = SeedSequence(fitting.seed).generate_state(4)
        self._given_fit = fit
        self._results: dict[str, CheckResult] = {}
        self.data = data if fit is not None else _varying(data)
        self.n_classes = len(data.classes)
        self.n_decision_makers = data.n_decision_makers

    def result_of(self, check: Check) -> CheckResult:
        """Run a check once; later checks may ask for its result."""
        if check.code not in self._results:
            self._results[check.code] = check(self)
        return self._results[check.code]

    def generator(self, stream: int) -> Generator:
        """Random numbers of a check's own."""
        return default_rng(SeedSequence(int(self._seeds[0]), spawn_key=(stream,)))

    @property
    def decision_maker(self) -> np.ndarray:
        """Codes of all rows."""
        return self.data.decision_maker_codes

    @property
    def has_features(self) -> bool:
        """Whether any feature varies."""
        return bool(self.data.features.shape[1])

    @cached_property
    def cell(self) -> np.ndarray:
        """Stratum of each row, zeros without strata."""
        return self.data.cells

    @property
    def place(self) -> str:
        """Where decision-makers are compared, in words."""
        return "within strata" if self.data.strata is not None else "in the sample"

    @cached_property
    def compared(self) -> np.ndarray:
        """Rows whose stratum has two decision-makers or more."""
        need(self.n_decision_makers > 1, "there is only one decision-maker.")
        several = decision_makers_per_cell(self.cell, self.decision_maker) > 1
        rows = np.flatnonzero(several[self.cell])
        need(len(rows), "every stratum has one decision-maker only, so there is nobody to compare with.")
        return rows

    def need_rejected(self) -> None:
        """Raise unless some case was decided against."""
        need(not self.data.decision.all(), "no case was decided against: every label is seen.")

    @cached_property
    def units(self) -> Units:
        """What was dealt to decision-makers, among the compared rows."""
        rows = self.compared
        groups = None if self.data.groups is None else self.data.groups[rows]
        return assignment_units(self.decision_maker[rows], self.cell[rows], groups)

    @cached_property
    def seen_labels(self) -> np.ndarray:
        """D Y_k of all rows, (n_samples, n_classes)."""
        return (self.data.y[:, None] == np.arange(self.n_classes)).astype(float)

    @cached_property
    def adjusted_outcomes(self) -> np.ndarray:
        """D and D Y_k of the compared rows, centred within strata with the overall mean added back."""
        columns = np.column_stack([self.data.decision, self.seen_labels])[self.compared]
        return centred(columns, self.cell[self.compared]) + columns.mean(axis=0)

    @cached_property
    def model_features(self) -> np.ndarray:
        """What models see of all rows: the features and, up to 20 strata, indicators of the stratum."""
        X = self.data.features
        n_strata = int(self.cell.max()) + 1
        if self._given_fit is None and 1 < n_strata <= FEW_STRATA:
            X = np.column_stack([X, self.cell[:, None] == np.arange(1, n_strata)])
        return X if X.shape[1] else np.zeros((len(X), 1))

    @cached_property
    def model_rows(self) -> np.ndarray:
        """Rows that models are fitted on."""
        n_rows = len(self.data)
        if self._given_fit is not None or n_rows <= MODEL_ROWS:
            return np.arange(n_rows)
        return np.sort(self.generator(0).choice(n_rows, MODEL_ROWS, replace=False))

    @cached_property
    def model_data(self) -> SelectiveLabels:
        """The rows that models are fitted on, with the features that they see."""
        whole = replace(self.data.bare(), features=self.model_features)
        return whole if len(self.model_rows) == len(whole) else whole.take(self.model_rows)

    @cached_property
    def fit(self) -> CrossFit:
        """Models of decision and label, cross-fitted, each on two halves."""
        need(len(self.compared), "there is nobody to compare with.")
        self.need_rejected()
        if self._given_fit is not None:
            return self._given_fit
        self._fitting.say_beforehand(self.model_data)
        with warnings.catch_warnings():
            # What a rare class costs shows in the checks; the user did not choose these folds.
            warnings.simplefilter("ignore", UserWarning)
            try:
                return self._fitting.cross_fit(self.model_data, seed=int(self._seeds[1]), in_halves=True)
            except InputError as error:
                raise NotApplicableError(f"the models could not be fitted ({error})") from None

    @cached_property
    def case_model(self) -> CaseModel:
        """Predictions of decision and label of all compared rows from the features alone, held out."""
        return case_model(self.fit, self.model_features, self.model_rows, self.compared)

    @cached_property
    def row_model(self) -> RowModel:
        """What the models say of the model rows under every decision-maker, held out."""
        return row_model(self.fit, self.model_data)

    @cached_property
    def assignment_model(self) -> AssignmentModel:
        """Who decides, predicted from features on half of the rows."""
        rows = self.compared
        if self.units.of_row is not None:  # one row for each group that was assigned as a whole
            rows = rows[np.unique(self.units.of_row, return_index=True)[1]]
        generator = self.generator(1)
        most = len(self.model_rows)
        chosen = rows if len(rows) <= most else np.sort(generator.choice(rows, most, replace=False))
        return assignment_model(self.data, chosen, self.cell, generator)

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """Scores of the model rows, by the names of the assumptions that checks compare."""
        return cross_fit_scores(self.fit, self.model_data, [Instrument(), Nucem()])

    @cached_property
    def bounds(self) -> tuple[Bounds, np.ndarray]:
        """Bounds of the model rows, and which of them crossed."""
        return identified_bounds(self.fit, self.model_data.features, self.n_classes, held_out=True)


def _varying(data: SelectiveLabels) -> SelectiveLabels:
    """Keep the columns that tell cases apart: more than one value, holes counted as one."""
    kept = [number for number, column in enumerate(data.features.T) if _varies(column)]
    if len(kept) == data.features.shape[1]:
        return data
    categorical = tuple(place for place, number in enumerate(kept) if number in data.categorical)
    return replace(data.bare(), features=data.features[:, kept], categorical=categorical)


def _varies(column: np.ndarray) -> bool:
    holes = np.isnan(column)
    if holes.all():
        return False
    seen = column[~holes]
    return bool(holes.any() or seen.min() < seen.max())
