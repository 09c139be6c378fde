"""Multinomial logistic models of the outcome with partially pooled effects of decision-makers."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from selective_labels.nuisance.coding import spread_columns
from selective_labels.nuisance.features import standardised, standardised_numbers, with_products

# A dense design is several times faster than a sparse one, while it fits: up to 400 MB.
DENSE_NUMBERS = 50_000_000
# Indicators of categories are mostly zeros: below this share of other numbers a sparse design is faster.
SPARSE_SHARE = 0.2
MAX_ITERATIONS = 500


@dataclass(frozen=True)
class LogisticSettings:
    """What is pooled, and how much: prior variances of the coefficients (ridge).

    Attributes
    ----------
    products : bool
        Squares and products of features as well.
    variance : float
        Of the features' coefficients and of the decision-makers' intercepts.
    slope_variance : float
        Of the feature-by-decision-maker coefficients; zero leaves these out.
    """

    products: bool
    variance: float
    slope_variance: float

    def describe(self) -> str:
        """Say the settings in a few words."""
        return f"prior variance {self.variance:g}, of decision-makers' slopes {self.slope_variance:g}"

    @property
    def slope_scale(self) -> float:
        """Scale of the slopes' columns that makes one common ridge mean their own variance."""
        return float(np.sqrt(self.slope_variance / self.variance))


class PooledLogistic:
    r"""A coherent model of decision and label with random effects of decision-makers.

    P(outcome = c | x, z) ∝ exp(f(x)·b_c + a_cz + g(x)·s_cz), with ridge on b, a and s,

    where f are the standardised features (with squares and products if asked) and g the standardised
    features themselves. Ridge on a and s is partial pooling: a decision-maker with few rows is drawn
    to the average one. Categories are indicators in f only: with one slope for each decision-maker and
    category there would be more coefficients than rows to learn them from.

    Parameters
    ----------
    n_arms : int
        Number of decision-makers (or bands of them).
    n_outcomes : int
        Number of classes plus one.
    settings : LogisticSettings
    categorical : tuple of int
        Columns of the features that hold codes of categories.
    """

    def __init__(
        self,
        n_arms: int,
        n_outcomes: int,
        settings: LogisticSettings,
        categorical: tuple[int, ...] = (),
    ):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.settings = settings
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "PooledLogistic":
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        self.scale_: Pipeline = standardised(self.categorical).fit(X)
        self.numbers_ = standardised_numbers(self.scale_)
        linear = self.scale_.transform(X)
        self.expand_: Pipeline | None = with_products().fit(linear) if self.settings.products else None
        self.outcomes_ = np.unique(outcome)
        design = self._design(linear, arm)
        model = LogisticRegression(C=self.settings.variance, max_iter=MAX_ITERATIONS)
        with warnings.catch_warnings():
            # What an early end costs shows in the held-out loss that every model is judged by.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(design, outcome, sample_weight=sample_weight)
        coefficients, intercepts = model.coef_, model.intercept_
        if len(self.outcomes_) == 2:  # one row of coefficients stands for the contrast of two outcomes
            coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
            intercepts = np.append(0.0, intercepts)
        self._split(coefficients, intercepts, linear[:, self.numbers_].shape[1])
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        linear = self.scale_.transform(X)
        logits = np.repeat(
            (self._expand(linear) @ self.base_.T + self.intercepts_)[None], self.n_arms, axis=0
        )
        logits += self.effects_[:, None, :]
        if self.slopes_ is not None:
            logits += linear[:, self.numbers_] @ self.slopes_
        return spread_columns(softmax(logits, axis=2), self.outcomes_, self.n_outcomes)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        linear = self.scale_.transform(X)
        logits = self._expand(linear) @ self.base_.T + self.intercepts_ + self.effects_[arm]
        if self.slopes_ is not None:
            for each in np.unique(arm):
                logits[arm == each] += linear[arm == each, self.numbers_] @ self.slopes_[each]
        return spread_columns(softmax(logits, axis=1), self.outcomes_, self.n_outcomes)

    def _expand(self, linear: np.ndarray) -> np.ndarray:
        return linear if self.expand_ is None else self.expand_.transform(linear)

    def _design(self, linear: np.ndarray, arm: np.ndarray) -> np.ndarray | sparse.csr_matrix:
        """Columns: features, indicators of decision-makers, products of these with numbers (arm-major)."""
        numbers = linear[:, self.numbers_]
        rows, n_linear = numbers.shape
        indicators = sparse.csr_matrix((np.ones(rows), (np.arange(rows), arm)), shape=(rows, self.n_arms))
        blocks = [sparse.csr_matrix(self._expand(linear)), indicators]
        if self.settings.slope_variance:
            columns = arm[:, None] * n_linear + np.arange(n_linear)
            values = self.settings.slope_scale * numbers
            offsets = np.arange(rows + 1) * n_linear
            shape = (rows, self.n_arms * n_linear)
            blocks.append(sparse.csr_matrix((values.ravel(), columns.ravel(), offsets), shape=shape))
        design = sparse.hstack(blocks, format="csr")
        size = np.prod(design.shape)
        hollow = bool(self.categorical) and design.nnz < SPARSE_SHARE * size
        return design if hollow or size > DENSE_NUMBERS else design.toarray()

    def _split(self, coefficients: np.ndarray, intercepts: np.ndarray, n_linear: int) -> None:
        """Undo the design: what belongs to features, to decision-makers, and to both."""
        n_slopes = self.n_arms * n_linear if self.settings.slope_variance else 0
        n_base = coefficients.shape[1] - self.n_arms - n_slopes
        self.base_, effects, slopes = np.split(coefficients, [n_base, n_base + self.n_arms], axis=1)
        self.intercepts_ = intercepts
        self.effects_ = effects.T
        self.slopes_: np.ndarray | None = None
        if n_slopes:
            per_arm = slopes.reshape(len(intercepts), self.n_arms, n_linear).transpose(1, 2, 0)
            self.slopes_ = self.settings.slope_scale * per_arm
