"""The truth behind the paper's synthetic experiment, by quadrature."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import expit

from selective_labels.datasets.paper_design import FEATURE_FACTOR, SCALE, PaperDesign
from selective_labels.datasets.quadrature import TAIL, Axis, Table, integrate_choice, normal_rule
from selective_labels.datasets.sample import Limits, Oracle

_SATURATED = 30.0  # expit(30) = 1 - 1e-13
_NODES_PER_WIDTH = 6.0
_INNER_STEP = 0.04  # the rules switch along the inner integral
_OUTER_STEP = 0.1  # the outer one is smooth
_LIMIT_TAIL = 6.0  # standard deviations; beyond it lies 2e-9 of the population


class PaperOracle(Oracle):
    """Exact conditional probabilities of `make_paper_synthetic`.

    Write b = sum u_i = sd_b e and c = slope b + sd e' with independent standard normal e, e'. Then both
    designs are made of one function of two numbers,

        G_k(v, w) = E[softmax_k(k (v + spread_y e)) L(w + spread_d e)],   L(w) = E[expit(w + gain sd e')],

    v = (1 - alpha_y) s, spread_y = alpha_y factor_y sd_b, spread_d = gain slope sd_b:

        eta_k(x)  = G_k(v, infinity),
        p_kz(x)   = (1 - alpha_d) expit(2 z r) eta_k(x) + alpha_d G_k(v, 0)       (nucem),
                  = G_k(v, (1 - alpha_d) 2 z r)                                   (uc).

    G is computed on a grid by the trapezoid rule and looked up by splines; the error is below 1e-7. The
    limits integrate over (s, r), bivariate normal; their error is below 5e-5.
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
        # c given b: the coefficients' mean goes with b, their deviations are independent of it.
        self._sd_l = abs(design.hidden_gain) * SCALE * np.sqrt(design.n_hidden) * hidden.std()

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self._eta(X.sum(axis=1))

    def _joint(self, X: np.ndarray) -> np.ndarray:
        # Splines may leave [0, 1] by their error.
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
        # As a function of v, G is as smooth as the softmax smoothed by e over the width of L.
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
        """Integrate over (s, r), bivariate normal: r outside, s given r inside."""
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
        """Nodes and weights for r ~ N(0, sd_r^2), dense about zero.

        expit(2 z r) turns within 1 / (2 J) of zero while r spreads over sd_r; r = narrow sinh(t) resolves
        both.
        """
        narrow = min(1.0 / (FEATURE_FACTOR * self.n_decision_makers), sd_r)
        half = int(np.ceil(np.arcsinh(_LIMIT_TAIL * sd_r / narrow) / _OUTER_STEP))
        t = _OUTER_STEP * np.arange(-half, half + 1)
        r = narrow * np.sinh(t)
        weights = np.exp(-((r / sd_r) ** 2) / 2) * np.cosh(t)
        return r, weights / weights.sum()


def smoothed_expit(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """L(w) = E[expit(w + scale N)], N standard normal, as a function of w (looked up in a table)."""
    axis = Axis.of_step(_SATURATED + TAIL * scale, np.hypot(1.0, scale) / 12)
    nodes, weights = normal_rule(np.pi / max(scale, 1e-3))
    table = Table((axis,), (expit(axis.nodes[:, None] + scale * nodes) @ weights)[:, None])
    return lambda w: table(w)[..., 0]
