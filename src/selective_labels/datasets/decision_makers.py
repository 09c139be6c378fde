"""Nominal decision-makers with large differences in leniency: the main design for evaluating methods."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri, softmax
from scipy.stats import qmc

from selective_labels._errors import InputError
from selective_labels.datasets.oracle import (
    Limits,
    Oracle,
    RandomState,
    SelectiveSample,
    check_count,
    draw_classes,
    draw_decisions,
    hide_labels,
    limits_of_rules,
    normal_rule,
    spawn_streams,
)

N_FEATURES = 4
_HIDDEN_IN_OUTCOME = 1.2
# As functions of u, class logits span 2.4 u, so the softmax has no pole within pi / 2.4 of the real line.
# The poles of the decisions, at pi / 2 and pi / 1.5, are farther away.
_POLE_DISTANCE = np.pi / (2 * _HIDDEN_IN_OUTCOME)
_LOG2_POPULATION = 16


@dataclass(frozen=True, eq=False)
class DecisionMakerDesign:
    """Distributions of outcome and decision given one hidden standard normal u."""

    n_classes: int
    leniency: np.ndarray
    additive: bool
    mirrored: bool
    skill: np.ndarray

    @property
    def coefficients(self) -> np.ndarray:
        """Feature coefficients of the class logits, shape (4, K). The last feature is noise."""
        if self.n_classes == 3:
            return np.array([[1, 0, -1], [0, 1, -1], [0.5, -0.5, 0], [0, 0, 0]], dtype=float)
        angle = 2 * np.pi * np.arange(self.n_classes) / self.n_classes
        return np.stack([np.cos(angle), np.sin(angle), 0.5 * np.cos(2 * angle), np.zeros_like(angle)])

    @property
    def hidden_coefficients(self) -> np.ndarray:
        """Coefficients of u in the class logits, evenly spaced from -1.2 to 1.2, shape (K,)."""
        return np.linspace(-_HIDDEN_IN_OUTCOME, _HIDDEN_IN_OUTCOME, self.n_classes)

    def outcome(self, X: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """P(Y*=k | x, u), shape (n, K)."""
        return softmax(X @ self.coefficients + hidden[:, None] * self.hidden_coefficients, axis=1)

    def decision(
        self, first_feature: np.ndarray, hidden: np.ndarray, decision_maker: np.ndarray
    ) -> np.ndarray:
        """P(D=1 | x, u, z) for arrays that broadcast."""
        hidden = -hidden if self.mirrored else hidden
        skill = self.skill[decision_maker]
        index = self.leniency[decision_maker] + 0.8 * first_feature
        if self.additive:
            return 0.5 + 0.225 * np.tanh(index) + 0.25 * skill * (2 * expit(2 * hidden) - 1)
        return expit(index + 1.5 * skill * hidden)


class DecisionMakerOracle(Oracle):
    """Exact conditional probabilities of `make_decision_makers`.

        eta_k(x) = E_u[P(Y*=k | x, u)],   p_kz(x) = E_u[P(Y*=k | x, u) P(D=1 | x, u, z)],

    by the trapezoid rule over u (error below 1e-10). With `slack_class` = j, the joint distribution of the
    observed data is the same, but eta(x) = lower(x) + (1 - sum_k lower_k(x)) e_j: all unobserved mass is in
    class j.

    The limits are means over 65,536 Sobol points of the three relevant features. Random shifts of the points
    change them by at most 2e-4 (standard deviations of 1e-5 to 9e-5).
    """

    n_features = N_FEATURES

    def __init__(self, design: DecisionMakerDesign, slack_class: int | None = None) -> None:
        self.design = design
        self.slack_class = slack_class
        self.n_decision_makers = len(design.leniency)
        self.n_classes = design.n_classes
        self._nodes, self._weights = normal_rule(_POLE_DISTANCE)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        if self.slack_class is None:
            return self._outcome_at_nodes(X).sum(axis=1)
        return probabilities_on_edge(self._joint(X), self.slack_class)

    def _joint(self, X: np.ndarray) -> np.ndarray:
        design = self.design
        everybody = np.arange(self.n_decision_makers)[:, None]
        decision = design.decision(X[:, 0, None, None], self._nodes, everybody)
        labeled = decision @ self._outcome_at_nodes(X)
        return np.concatenate([1.0 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)

    def _outcome_at_nodes(self, X: np.ndarray) -> np.ndarray:
        """Weighted P(Y*=k | x, u) at the nodes of u, shape (n, n_nodes, K).

        exp(x B + u c) = exp(x B) exp(u c), so rows and nodes only need to be multiplied.
        """
        logits = X @ self.design.coefficients
        by_features = np.exp(logits - logits.max(axis=1, keepdims=True))
        by_hidden = np.exp(self._nodes[:, None] * self.design.hidden_coefficients)
        scale = self._weights / (by_features @ by_hidden.T)
        return by_features[:, None] * by_hidden * scale[:, :, None]

    def _compute_limits(self) -> Limits:
        return limits_of_rules(self, population())


def probabilities_on_edge(joint: np.ndarray, slack_class: int) -> np.ndarray:
    """Class probabilities lower + slack e_j, with all unobserved mass in class j, shape (n, K)."""
    eta = joint[:, :, 1:].max(axis=1)
    eta[:, slack_class] += 1.0 - eta.sum(axis=1)
    return eta


def population() -> np.ndarray:
    """Evenly spread standard normal features. The last one is irrelevant and stays zero."""
    points = qmc.Sobol(N_FEATURES - 1, scramble=False).random_base2(_LOG2_POPULATION)
    points += 0.5 ** (_LOG2_POPULATION + 1)  # move to the centre of the cells, away from zero
    return np.column_stack([ndtri(points), np.zeros(len(points))])


def make_decision_makers(
    n_samples: int = 15000,
    n_classes: int = 3,
    n_decision_makers: int = 8,
    additive: bool = True,
    mirrored: bool = False,
    slack_class: int | None = None,
    random_state: RandomState = None,
    *,
    leniency_spread: float = 1.0,
    skill_slope: float = 0.0,
) -> SelectiveSample:
    """Draw cases decided by nominal decision-makers of different leniency, with the oracle.

    Four standard normal features x, one standard normal hidden u, z uniform, a_z a random permutation of
    an even grid from -2 s to 2 s, s = `leniency_spread`:

        P(D=1 | x, u, z) = .5 + .225 tanh(a_z + .8 x_1) + .25 κ_z (2 expit(2 u) - 1)     (additive),
                         = expit(a_z + .8 x_1 + 1.5 κ_z u)                               (not additive),
        P(Y*=k | x, u)   = softmax_k(x B + u c),
        κ_z              = 1 - (|b| - b a_z / (2 s)) / 4,   b = `skill_slope`.

    For three classes B = [[1, 0, -1], [0, 1, -1], [.5, -.5, 0], [0, 0, 0]] and c = (-1.2, 0, 1.2). Otherwise
    the rows of B are cos(2 pi k/K), sin(2 pi k/K), .5 cos(4 pi k/K), 0, and c is evenly spaced from -1.2 to
    1.2.

    If all decision-makers are equally skilled (κ_z = 1), the additive decision has no unmeasured common
    effect modifier (NUCEM): p_kz is linear in leniency with slope P(Y*=k | x), for any numbering of the
    decision-makers. The other decision has one.

    Parameters
    ----------
    n_samples, n_classes, n_decision_makers : int
    additive : bool
    mirrored : bool
        Reverse the sign of u in the decision. Selection then favours the first classes, not the last.
    slack_class : int, optional
        Move the truth to the boundary of the identified set: the distribution of the observed data is
        unchanged, but unobserved labels are of this class as far as the data allow. Then u plays no role:
        given Y*=j, the decision is 1 with probability p_jz / eta_j, eta = lower bounds + slack in this class.
    random_state : int, SeedSequence, Generator, RandomState or None
    leniency_spread : float
        s, non-negative: the strength of the instrument. 1 is the usual design, in which leniency has a
        standard deviation of .17 over decision-makers at x_1 = 0 (additive, eight of them). At .1 it is .03,
        a weak instrument for a few thousand rows. At 0 all decision-makers are alike: there is no instrument.
    skill_slope : float
        b, between -2 and 2: how skill changes with leniency. Skill κ is the weight of u in the decision. At 0
        it is one for everybody. At 1 it rises from .5 for the strictest decision-maker to 1 for the most
        lenient one, at -1 it falls. The log odds ratio of classes between refused and accepted cases then
        changes with leniency by about 1.1 b (two classes), in the direction of `mirrored`.

    Returns
    -------
    SelectiveSample
        Decision-makers are 0..J-1, in an order unrelated to leniency. The oracle is a
        `DecisionMakerOracle`.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(1000, random_state=0)
    >>> sample.oracle.joint(sample.X).shape
    (1000, 8, 4)
    >>> edge = make_decision_makers(1000, slack_class=2, random_state=0)
    >>> bool((edge.oracle.joint(edge.X) == sample.oracle.joint(sample.X)).all())
    True
    """
    check_count("n_samples", n_samples, 1)
    check_count("n_classes", n_classes, 2)
    check_count("n_decision_makers", n_decision_makers, 1)
    if not 0.0 <= leniency_spread < np.inf:
        raise InputError.about("leniency_spread", f"must be 0 or larger and finite, got {leniency_spread!r}.")
    if not -2.0 <= skill_slope <= 2.0:
        raise InputError.about("skill_slope", f"must lie between -2 and 2, got {skill_slope!r}.")
    if slack_class is not None and slack_class not in range(n_classes):
        raise InputError.about(
            "slack_class", f"must be None or a class 0..{n_classes - 1}, got {slack_class!r}."
        )

    streams = spawn_streams(random_state)
    # A single decision-maker is in the middle of the grid.
    grid = np.linspace(-2.0, 2.0, n_decision_makers) if n_decision_makers > 1 else np.zeros(1)
    grid = streams.design.permutation(grid)
    skill = 1.0 - (abs(skill_slope) - skill_slope * grid / 2.0) / 4.0
    design = DecisionMakerDesign(n_classes, leniency_spread * grid, additive, mirrored, skill)
    oracle = DecisionMakerOracle(design, slack_class)

    X = streams.features.standard_normal((n_samples, N_FEATURES))
    decision_maker = streams.assignment.integers(n_decision_makers, size=n_samples)
    if slack_class is None:
        hidden = streams.hidden.standard_normal(n_samples)
        y_true = draw_classes(design.outcome(X, hidden), streams.outcome)
        probability = design.decision(X[:, 0], hidden, decision_maker)
    else:
        joint = oracle.joint(X)
        eta = probabilities_on_edge(joint, slack_class)
        y_true = draw_classes(eta, streams.outcome)
        rows = np.arange(n_samples)
        probability = joint[rows, decision_maker, 1 + y_true] / eta[rows, y_true]
    decision = draw_decisions(probability, streams.decision)
    return SelectiveSample(X, hide_labels(y_true, decision), decision, decision_maker, y_true, oracle)
