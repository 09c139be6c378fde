"""The synthetic experiment of Chen, Li and Mao (ICML 2025), with its exact oracle."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, softmax

from selective_labels.datasets.oracle import (
    TAIL,
    Axis,
    Limits,
    Oracle,
    RandomState,
    SelectiveSample,
    Table,
    check_choice,
    check_count,
    check_share,
    draw_classes,
    draw_decisions,
    hide_labels,
    integrate_choice,
    normal_rule,
    spawn_streams,
)

SCALE = 2.0  # standard deviation of every feature and every hidden variable
FEATURE_FACTOR = 2.0  # factor of the features in the decision


@dataclass(frozen=True)
class Constants:
    """Constants on which the paper and the released code differ (E18)."""

    n_features: int
    n_hidden: int
    first_index: int
    outcome_factor: float
    decision_factor: dict[str, float]


CONSTANTS = {
    "paper": Constants(5, 5, 1, 4.0, {"nucem": 3.0, "uc": 3.0}),
    "released_notebook": Constants(5, 5, 0, 2.0, {"nucem": 1.0, "uc": 3.0}),
    "released_scripts": Constants(6, 4, 0, 2.0, {"nucem": 1.0, "uc": 3.0}),
}


@dataclass(frozen=True)
class PaperDesign:
    """Distributions of outcome and decision, in terms of the four sums that they depend on.

    Class logits are linear in k, so the outcome depends on features and hidden variables only through their
    plain sums s and b. The decision depends on the weighted sums r and c:

        P(Y*=k | x, u) = softmax_k(k ((1 - alpha_y) s + alpha_y factor_y b)),      s = sum x_i, b = sum u_i,
        P(D=1 | x, u, z) = (1 - alpha_d) expit(2 z r) + alpha_d expit(factor_d c)     (nucem),
                         = expit((1 - alpha_d) 2 z r + alpha_d factor_d c)            (uc),
        r = sum (2 - i) x_i,  c = sum (1 + i) u_i.

    `mirrored` reverses the sign of c.
    """

    selection: str
    alpha_y: float
    alpha_d: float
    n_features: int
    n_hidden: int
    n_decision_makers: int
    n_classes: int
    first_index: int
    outcome_factor: float
    decision_factor: float
    mirrored: bool

    @property
    def feature_coefficients(self) -> np.ndarray:
        """2 - i, the coefficients of features in the decision."""
        return 2.0 - self.first_index - np.arange(self.n_features)

    @property
    def hidden_coefficients(self) -> np.ndarray:
        """1 + i, the coefficients of hidden variables in the decision."""
        return 1.0 + self.first_index + np.arange(self.n_hidden)

    @property
    def decision_makers(self) -> np.ndarray:
        """Ids 1..J. These numbers enter the decision."""
        return np.arange(1, self.n_decision_makers + 1)

    @property
    def hidden_gain(self) -> float:
        """Signed coefficient of c within the expit that contains it."""
        share = self.alpha_d if self.selection == "uc" else 1.0
        return (-1.0 if self.mirrored else 1.0) * share * self.decision_factor

    def outcome(self, index: np.ndarray) -> np.ndarray:
        """P(Y*=k | x, u) at the index (1 - alpha_y) s + alpha_y factor_y b, shape index.shape + (K,)."""
        return softmax(index[..., None] * np.arange(self.n_classes), axis=-1)

    def outcome_index(self, feature_sum: np.ndarray, hidden_sum: np.ndarray) -> np.ndarray:
        """(1 - alpha_y) s + alpha_y factor_y b."""
        return (1 - self.alpha_y) * feature_sum + self.alpha_y * self.outcome_factor * hidden_sum

    def decision(self, r: np.ndarray, c: np.ndarray, decision_maker: np.ndarray) -> np.ndarray:
        """P(D=1 | x, u, z)."""
        by_features = FEATURE_FACTOR * decision_maker * r
        by_hidden = self.hidden_gain * c
        if self.selection == "uc":
            return expit((1 - self.alpha_d) * by_features + by_hidden)
        return (1 - self.alpha_d) * expit(by_features) + self.alpha_d * expit(by_hidden)


_SATURATED = 30.0  # expit(30) = 1 - 1e-13
_NODES_PER_WIDTH = 6.0
_INNER_STEP = 0.04  # small, because the rules switch along the inner integral
_OUTER_STEP = 0.1  # larger, because the outer integrand is smooth
_LIMIT_TAIL = 6.0  # standard deviations; beyond it lies 2e-9 of the population


class PaperOracle(Oracle):
    """Exact conditional probabilities of `make_paper_synthetic`.

    Write b = sum u_i = sd_b e and c = slope b + sd e' with independent standard normal e, e'. Then both
    designs can be expressed by one function of two numbers,

        G_k(v, w) = E[softmax_k(k (v + spread_y e)) L(w + spread_d e)],   L(w) = E[expit(w + gain sd e')],

    v = (1 - alpha_y) s, spread_y = alpha_y factor_y sd_b, spread_d = gain slope sd_b:

        eta_k(x)  = G_k(v, infinity),
        p_kz(x)   = (1 - alpha_d) expit(2 z r) eta_k(x) + alpha_d G_k(v, 0)       (nucem),
                  = G_k(v, (1 - alpha_d) 2 z r)                                   (uc).

    G is computed on a grid by the trapezoid rule and interpolated by splines, with an error below 1e-7. The
    limits integrate over (s, r), which is bivariate normal, with an error below 5e-5.
    """

    def __init__(self, design: PaperDesign) -> None:
        self.design = design
        self.n_features = design.n_features
        self.n_decision_makers = design.n_decision_makers
        self.n_classes = design.n_classes

        hidden = design.hidden_coefficients
        sd_b = SCALE * np.sqrt(design.n_hidden)
        self._spread_y = design.alpha_y * design.outcome_factor * sd_b
        self._spread_d = design.hidden_gain * hidden.mean() * sd_b
        # c depends on b through the mean of the coefficients. Their deviations are independent of b.
        self._sd_l = abs(design.hidden_gain) * SCALE * np.sqrt(design.n_hidden) * hidden.std()

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self._eta(X.sum(axis=1))

    def _joint(self, X: np.ndarray) -> np.ndarray:
        # Spline interpolation may leave [0, 1] by its error.
        labeled = np.clip(self._labeled(X.sum(axis=1), X @ self.design.feature_coefficients), 0.0, 1.0)
        unlabeled = np.clip(1.0 - labeled.sum(axis=2, keepdims=True), 0.0, 1.0)
        return np.concatenate([unlabeled, labeled], axis=2)

    def _eta(self, s: np.ndarray) -> np.ndarray:
        """eta_k at the sums s, shape s.shape + (K,)."""
        return np.clip(self._eta_table((1 - self.design.alpha_y) * s), 0.0, 1.0)

    def _labeled(self, s: np.ndarray, r: np.ndarray) -> np.ndarray:
        """p_kz at the sums s, r (n,), shape (n, J, K)."""
        design = self.design
        v = (1 - design.alpha_y) * s
        by_features = FEATURE_FACTOR * r[:, None] * design.decision_makers
        if design.selection == "uc":
            v, w = np.broadcast_arrays(v[:, None], (1 - design.alpha_d) * by_features)
            return self._labeled_table(v, w)
        leniency = (1 - design.alpha_d) * expit(by_features)
        return leniency[:, :, None] * self._eta(s)[:, None] + design.alpha_d * self._labeled_table(v)[:, None]

    # Tables of G ------------------------------------------------------------------------------------

    @cached_property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        # The softmax of k t has its poles at t = 2 pi i / K, the expit of t at t = pi i.
        poles = [2 * np.pi / self.n_classes / max(self._spread_y, 1e-3)]
        poles.append(np.pi / max(abs(self._spread_d), 1e-3))
        return normal_rule(min(poles))

    @cached_property
    def _outcome_axis(self) -> Axis:
        # As a function of v, G is as smooth as the softmax after smoothing by e over the width of L.
        width_l = np.hypot(1.0, self._sd_l) / max(abs(self._spread_d), 1e-3)
        width = np.hypot(2.0 / (self.n_classes - 1), self._spread_y * min(width_l, 1.0))
        return Axis.of_step(_SATURATED + TAIL * self._spread_y, width / _NODES_PER_WIDTH)

    @cached_property
    def _decision_axis(self) -> Axis:
        width = np.hypot(1.0, self._sd_l)
        end = _SATURATED + TAIL * np.hypot(self._spread_d, self._sd_l)
        return Axis.of_step(end, width / _NODES_PER_WIDTH)

    @cached_property
    def _outcome_at_nodes(self) -> np.ndarray:
        """Weighted softmax at (grid of v, nodes of e), shape (K, n_v, n_nodes)."""
        nodes, weights = self._rule
        index = self._outcome_axis.nodes[:, None] + self._spread_y * nodes
        return np.moveaxis(self.design.outcome(index), -1, 0) * weights

    @cached_property
    def _eta_table(self) -> Table:
        return Table((self._outcome_axis,), self._outcome_at_nodes.sum(axis=2).T)

    @cached_property
    def _labeled_table(self) -> Table:
        """G_k(v, 0) for nucem, G_k(v, w) for uc."""
        decide = smoothed_expit(self._sd_l)
        nodes = self._spread_d * self._rule[0]
        if self.design.selection == "nucem":
            return Table((self._outcome_axis,), (self._outcome_at_nodes @ decide(nodes)).T)
        decision = decide(self._decision_axis.nodes[:, None] + nodes)
        values = np.moveaxis(self._outcome_at_nodes @ decision.T, 0, -1)
        return Table((self._outcome_axis, self._decision_axis), values)

    # Limits -----------------------------------------------------------------------------------------

    def _compute_limits(self) -> Limits:
        """Integrate over (s, r), bivariate normal: r in the outer integral, s given r in the inner one."""
        coefficients = self.design.feature_coefficients
        n_features = self.n_features
        sd_r = SCALE * np.sqrt((coefficients**2).sum())
        slope = coefficients.sum() / (coefficients**2).sum()
        sd_s = SCALE * np.sqrt(max(n_features - slope * coefficients.sum(), 0.0))

        r, density_r = self._outer_rule(sd_r)
        half = int(np.ceil(_LIMIT_TAIL / _INNER_STEP))
        e = _INNER_STEP * np.arange(-half, half + 1)
        density = np.exp(-(e**2) / 2) / np.sqrt(2 * np.pi)
        s = slope * r[:, None] + sd_s * e

        eta = self._eta(s)
        labeled = self._labeled(s.ravel(), np.repeat(r, len(e))).reshape(*s.shape, -1, self.n_classes)
        values = eta * density[:, None]

        def accuracy(gains: np.ndarray) -> float:
            return float(density_r @ integrate_choice(gains, values, _INNER_STEP))

        return Limits(accuracy(eta), accuracy(labeled.max(axis=2)), accuracy(labeled.mean(axis=2)))

    def _outer_rule(self, sd_r: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights for r ~ N(0, sd_r^2), dense around zero.

        expit(2 z r) changes within 1 / (2 J) of zero, while r spreads over sd_r. r = narrow sinh(t) resolves
        both.
        """
        narrow = min(1.0 / (FEATURE_FACTOR * self.n_decision_makers), sd_r)
        half = int(np.ceil(np.arcsinh(_LIMIT_TAIL * sd_r / narrow) / _OUTER_STEP))
        t = _OUTER_STEP * np.arange(-half, half + 1)
        r = narrow * np.sinh(t)
        weights = np.exp(-((r / sd_r) ** 2) / 2) * np.cosh(t)
        return r, weights / weights.sum()


def smoothed_expit(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """L(w) = E[expit(w + scale N)], N standard normal, as a function of w (interpolated from a table)."""
    axis = Axis.of_step(_SATURATED + TAIL * scale, np.hypot(1.0, scale) / 12)
    nodes, weights = normal_rule(np.pi / max(scale, 1e-3))
    table = Table((axis,), (expit(axis.nodes[:, None] + scale * nodes) @ weights)[:, None])
    return lambda w: table(w)[..., 0]


def make_paper_synthetic(
    n_samples: int = 10000,
    selection: str = "nucem",
    alpha_y: float = 0.5,
    alpha_d: float = 0.5,
    constants: str = "paper",
    n_features: int | None = None,
    n_hidden: int | None = None,
    n_decision_makers: int = 5,
    n_classes: int = 3,
    mirrored: bool = False,
    random_state: RandomState = None,
) -> SelectiveSample:
    """Draw from the synthetic design of Chen, Li and Mao (ICML 2025), with its oracle.

    Features x and hidden variables u are independent N(0, 4), z is uniform on 1..J, and

        P(Y*=k | x, u) = softmax_k((1 - alpha_y) sum_i (i + k) x_i + alpha_y factor_y sum_i (i + k) u_i),
        P(D=1 | x, u, z) = (1 - alpha_d) expit(2 z r) + alpha_d expit(factor_d c)     ("nucem"),
                         = expit((1 - alpha_d) 2 z r + alpha_d factor_d c)            ("uc"),
        r = sum_i (2 - i) x_i,  c = sum_i (1 + i) u_i.

    Under "nucem" the decision is additive in (x, z) and u, so the class probabilities are identified. Under
    "uc" they are not. The paper's text and the released code use different constants (E18):

    ===================  ========  =======  ==========  =========  ======================
    constants            features  hidden   i starts    factor_y   factor_d (nucem, uc)
    ===================  ========  =======  ==========  =========  ======================
    "paper"              5         5        at 1        4          3, 3
    "released_notebook"  5         5        at 0        2          1, 3
    "released_scripts"   6         4        at 0        2          1, 3
    ===================  ========  =======  ==========  =========  ======================

    Decision-makers differ in how steeply they follow r, but hardly in leniency: for most x the instrument is
    weak. Do not evaluate a method on this design alone; see `make_decision_makers`.

    Parameters
    ----------
    n_samples : int
    selection : {"nucem", "uc"}
    alpha_y, alpha_d : float in [0, 1]
        Weight of the hidden variables in the outcome and in the decision.
    constants : {"paper", "released_notebook", "released_scripts"}
    n_features, n_hidden : int, optional
        None: the values of `constants`. At least two features and one hidden variable.
    n_decision_makers, n_classes : int
    mirrored : bool
        Reverse the sign of u in the decision, so that selection favours the other classes. With the same
        seed, everything except the decisions stays the same.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SelectiveSample
        Decision-makers are 1..J, the numbers in the formula. The oracle is a `PaperOracle`.

    Examples
    --------
    >>> from selective_labels.datasets import make_paper_synthetic
    >>> sample = make_paper_synthetic(1000, selection="uc", random_state=0)
    >>> sample.X.shape, sorted(set(sample.y.tolist()))
    ((1000, 5), [-1, 0, 1, 2])
    >>> round(sample.oracle.bayes_accuracy, 3), round(sample.oracle.minimax_accuracy, 3)
    (0.551, 0.517)
    """
    check_choice("constants", constants, CONSTANTS)
    chosen = CONSTANTS[constants]
    check_choice("selection", selection, chosen.decision_factor)
    design = PaperDesign(
        selection=selection,
        alpha_y=alpha_y,
        alpha_d=alpha_d,
        n_features=chosen.n_features if n_features is None else n_features,
        n_hidden=chosen.n_hidden if n_hidden is None else n_hidden,
        n_decision_makers=n_decision_makers,
        n_classes=n_classes,
        first_index=chosen.first_index,
        outcome_factor=chosen.outcome_factor,
        decision_factor=chosen.decision_factor[selection],
        mirrored=mirrored,
    )
    check_count("n_samples", n_samples, 1)
    check_count("n_features", design.n_features, 2)
    check_count("n_hidden", design.n_hidden, 1)
    check_count("n_decision_makers", n_decision_makers, 1)
    check_count("n_classes", n_classes, 2)
    check_share("alpha_y", alpha_y)
    check_share("alpha_d", alpha_d)
    return _draw(design, n_samples, random_state)


def _draw(design: PaperDesign, n_samples: int, random_state: RandomState) -> SelectiveSample:
    streams = spawn_streams(random_state)
    X = SCALE * streams.features.standard_normal((n_samples, design.n_features))
    hidden = SCALE * streams.hidden.standard_normal((n_samples, design.n_hidden))
    decision_maker = streams.assignment.choice(design.decision_makers, n_samples)

    index = design.outcome_index(X.sum(axis=1), hidden.sum(axis=1))
    y_true = draw_classes(design.outcome(index), streams.outcome)
    probability = design.decision(
        X @ design.feature_coefficients, hidden @ design.hidden_coefficients, decision_maker
    )
    decision = draw_decisions(probability, streams.decision)
    y = hide_labels(y_true, decision)
    return SelectiveSample(X, y, decision, decision_maker, y_true, PaperOracle(design))
