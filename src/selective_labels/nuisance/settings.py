"""Settings of the nuisance models: validated once and passed on as one object."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from selective_labels._errors import require_choice
from selective_labels._validation import as_seed, require_count
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.assignment import AUTO, PROPENSITIES
from selective_labels.nuisance.bands import Arms
from selective_labels.nuisance.cross_fit import CrossFit, cross_fit
from selective_labels.nuisance.model_selection import candidates
from selective_labels.nuisance.models.encoders import n_standardised
from selective_labels.nuisance.runtime_warning import warn_of_runtime


@dataclass(frozen=True)
class FittingSettings:
    """Settings for fitting nuisance models: model, propensity, folds, repetitions, jobs and seed.

    Attributes
    ----------
    nuisance
        See :func:`selective_labels.nuisance.model_selection.candidates`.
    propensity : "auto", "shares" or "model"
        See :func:`selective_labels.nuisance.assignment.fit_assignment`.
    cv : int, splitter or iterable of folds
    n_repeats : int
        Number of repetitions of cross-fitting.
    n_jobs : int or None
    seed : int or None

    Examples
    --------
    >>> FittingSettings.read("logistic", random_state=np.random.RandomState(0)).seed
    209652396
    """

    nuisance: Any = None
    propensity: str = AUTO
    cv: Any = 5
    n_repeats: int = 1
    n_jobs: int | None = None
    seed: int | None = None

    @classmethod
    def read(
        cls,
        nuisance: Any = None,
        propensity: str = AUTO,
        cv: Any = 5,
        n_repeats: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Validate the arguments of a public function; all public functions have them in this order.

        `random_state` may be anything that scikit-learn accepts.
        """
        seed = as_seed(random_state)
        require_choice("propensity", propensity, PROPENSITIES)
        require_count("n_repeats", n_repeats)
        return cls(nuisance, propensity, cv, n_repeats, n_jobs, seed)

    @property
    def repeated_seeds(self) -> list[int]:
        """A seed for each repetition."""
        return np.random.SeedSequence(self.seed).generate_state(self.n_repeats).tolist()

    def cross_fit(
        self,
        data: SelectiveLabels,
        *,
        seed: int | None,
        in_halves: bool = False,
        n_bands: int | None = None,
        new_rows: bool = False,
        arms: list[Arms] | None = None,
    ) -> CrossFit:
        """Fit the models; see :func:`selective_labels.nuisance.cross_fit.cross_fit`."""
        return cross_fit(
            data.bare(),
            self.nuisance,
            cv=self.cv,
            in_halves=in_halves,
            n_bands=n_bands,
            propensity=self.propensity,
            new_rows=new_rows,
            arms=arms,
            n_jobs=self.n_jobs,
            random_state=seed,
            # Only the first repetition warns, on behalf of all.
            times=self.n_repeats if self.n_repeats == 1 or seed == self.repeated_seeds[0] else 0,
        )

    def warn_of_runtime(self, data: SelectiveLabels, times: int = 1) -> None:
        """Warn if the models will take long; for callers that suppress warnings during the fit."""
        n_columns = n_standardised(data.features, data.categorical)
        options, _ = candidates(self.nuisance, n_columns, 0)
        warn_of_runtime(data, options, n_columns, self.cv, times=times * self.n_repeats)
