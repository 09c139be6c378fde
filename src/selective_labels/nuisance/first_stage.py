"""First stage of the leniency instrument: a model of leniency with few terms per decision-maker."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.cross_fit import CHUNK_NUMBERS, CrossFit, arm_propensity
from selective_labels.nuisance.model_selection import log_losses
from selective_labels.nuisance.models.encoders import standardised

# Newton's method converges quadratically: six steps from zero suffice for every ridge penalty in use.
N_STEPS = 6


@dataclass(frozen=True)
class Deviations:
    """Deviations of arms from the common log-odds of a favourable decision.

    logit λ_z(x) = o(x) + b(x)·β_z,   Σ_z share_z β_z = 0

    Attributes
    ----------
    coefficients : (n_arms, n_terms) array
    """

    coefficients: np.ndarray

    def leniency(self, terms: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Leniency λ_z of every row under every arm, (n_arms, n_samples)."""
        return expit(self.coefficients @ terms.T + offset)

    def own(self, terms: np.ndarray, offset: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Leniency λ_z of every row under its own arm, (n_samples,)."""
        return expit(np.einsum("nd,nd->n", terms, self.coefficients[arm]) + offset)


def fit_deviations(
    terms: np.ndarray,
    offset: np.ndarray,
    arm: np.ndarray,
    decision: np.ndarray,
    variance: float,
    n_arms: int,
    sample_weight: np.ndarray | None = None,
) -> Deviations:
    """Fit the coefficients of every arm to its own rows with a ridge penalty, and centre them over arms.

    max_β Σ_i s_i log P(D_i | o_i + b_i·β_z) - |β_z|² / (2 variance), arm by arm

    Given the offset, the arms are separate small problems. What all arms share belongs to the offset, so the
    weighted mean over arms is subtracted.

    Parameters
    ----------
    terms : (n_samples, n_terms) array
        b(x), columns of unit scale.
    offset : (n_samples,) array
        o(x), held-out log-odds of the common leniency.
    arm, decision : (n_samples,) int arrays
    variance : float
        Prior variance of the coefficients.
    sample_weight : (n_samples,) array, optional

    Examples
    --------
    >>> arm, decision = np.repeat([0, 1], 4), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    >>> found = fit_deviations(np.ones((8, 1)), np.zeros(8), arm, decision, 1e6, 2)
    >>> found.leniency(np.ones((1, 1)), np.zeros(1)).round(2)
    array([[0.25],
           [0.75]])
    """
    weight = np.ones(len(arm)) if sample_weight is None else sample_weight
    order = np.argsort(arm, kind="stable")
    edges = np.searchsorted(arm[order], np.arange(n_arms + 1))
    coefficients = np.zeros((n_arms, terms.shape[1]))
    for each in range(n_arms):
        rows = order[edges[each] : edges[each + 1]]
        if len(rows):
            coefficients[each] = _newton(terms[rows], offset[rows], decision[rows], weight[rows], variance)
    shares = np.bincount(arm, weight, n_arms)
    return Deviations(coefficients - shares @ coefficients / max(shares.sum(), np.finfo(float).tiny))


def _newton(
    terms: np.ndarray, offset: np.ndarray, decision: np.ndarray, weight: np.ndarray, variance: float
) -> np.ndarray:
    solution = np.zeros(terms.shape[1])
    ridge = np.eye(terms.shape[1]) / variance
    for _ in range(N_STEPS):
        chance = expit(offset + terms @ solution)
        slope = terms.T @ (weight * (decision - chance)) - solution / variance
        curvature = (terms * (weight * chance * (1.0 - chance))[:, None]).T @ terms + ridge
        step = np.linalg.solve(curvature, slope)
        solution = solution + step
        if np.abs(step).max() < 1e-6:
            break
    return solution


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """Held-out predictions for some rows of one fold.

    Attributes
    ----------
    rows : (n,) int array
    arm : (n,) int array
        Arm of the row's decision-maker, in the fold's numbering.
    labeled : (n_arms, n, n_classes) array
        P(Y=k, D=1 | x, z).
    propensity : (n, n_arms) array
    """

    fold: int
    rows: np.ndarray
    arm: np.ndarray
    labeled: np.ndarray
    propensity: np.ndarray

    @property
    def own(self) -> np.ndarray:
        """P(Y=k, D=1 | x, z) under the row's own decision-maker, (n, n_classes)."""
        return self.labeled[self.arm, np.arange(len(self.arm))]

    @property
    def mean(self) -> np.ndarray:
        """P(Y=k, D=1 | x) averaged over decision-makers, (n, n_classes)."""
        return np.einsum("nz,znk->nk", self.propensity, self.labeled)


class HeldOutRows:
    """Iterable over all training rows in parts; predictions are stored if they fit in memory.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    """

    def __init__(self, fit: CrossFit, data: SelectiveLabels) -> None:
        self.fit = fit
        self.data = data
        small = len(data) * fit.n_arms * len(data.classes) <= CHUNK_NUMBERS
        self._kept = list(self._parts()) if small else None

    def __iter__(self) -> Iterator[HeldOutPart]:
        return self._parts() if self._kept is None else iter(self._kept)

    def _parts(self) -> Iterator[HeldOutPart]:
        fit, data = self.fit, self.data
        for number, fold in enumerate(fit.folds):
            propensity = arm_propensity(fit, number, data)
            for rows in fit.chunks(np.flatnonzero(fit.held_out == number), len(data.classes) + 1):
                labeled = np.ascontiguousarray(fold.joint(data.features[rows])[:, :, 1:])
                arm = fold.lookup[data.decision_maker_codes[rows]]
                yield HeldOutPart(number, rows, arm, labeled, propensity(rows))


# Prior variances of the decision-makers' coefficients, in increasing order (weaker ridge penalty).
VARIANCES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
N_COMPONENTS = 4
# Leniency is clipped this far from zero and one, so that its log-odds are finite.
EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class FirstStage:
    """Instrument of every row: its decision-maker's leniency minus the mean over possible decision-makers.

    f = λ̃_Z(x) - Σ_z e_z(x) λ̃_z(x),   so that E[f | x] = 0

    Attributes
    ----------
    instrument : (n_samples,) array
        f, held out.
    strength : (n_samples,) array
        V = Σ_z e_z f_z λ̃_z = E[f D | x].
    mean : (n_samples, n_classes) array
        p̄_k = P(Y=k, D=1 | x), held out.
    moved : (n_units,) array
        Weighted f (D - λ̄) of each row, or its sum over each group of repeated cases.
    terms, variance
        The chosen terms and prior variance.
    """

    instrument: np.ndarray
    strength: np.ndarray
    mean: np.ndarray
    moved: np.ndarray
    terms: str
    variance: float

    @cached_property
    def concentration(self) -> float:
        """(Σ f (D - λ̄))² / Σ (f (D - λ̄))²: the squared t-value of the first stage."""
        squares = float(np.sum(self.moved**2))
        return float(np.sum(self.moved)) ** 2 / squares if squares > 0.0 else 0.0


def first_stage(held_out: HeldOutRows) -> FirstStage:
    """Model how decision-makers deviate from the common leniency, and derive the instrument.

    logit λ̃_z(x) = o(x) + b(x)·β_z,   o = logit λ̄(x), held out;
    b one of [1], [1, o], [1, o, log-odds of the classes of labeled cases, 4 principal components of x]

    The terms and the ridge penalty minimise the held-out log-loss of the decision on the folds of the joint
    model. The joint model has a term for every feature, decision-maker and label, and so it shrinks a weak
    instrument to almost nothing. This model has few terms, all of them about leniency. Labels enter only
    through the class probabilities of labeled cases, predicted held out.

    If `nuisance` is a callable, the given probabilities are the first stage.
    """
    data, fit = held_out.data, held_out.fit
    mean = np.empty((len(data), len(data.classes)))
    for part in held_out:
        mean[part.rows] = part.mean
    if fit.report.chosen == "injected":
        return _with_leniency(held_out, mean, None, "as given", float("nan"))
    offset = logit(np.clip(mean.sum(axis=1), EDGE, 1.0 - EDGE))
    best: tuple[float, _Structure, str, float] | None = None
    for name, terms in _terms(held_out, mean, offset).items():
        before = np.inf
        for variance in VARIANCES:
            structure = _Structure(terms, offset, _fits(held_out, terms, offset, variance))
            loss = structure.loss(held_out)
            if best is None or loss < best[0]:
                best = loss, structure, name, variance
            if loss > before:  # a weaker penalty increases held-out loss
                break
            before = loss
    assert best is not None
    return _with_leniency(held_out, mean, *best[1:])


@dataclass(frozen=True, eq=False)
class _Structure:
    terms: np.ndarray
    offset: np.ndarray
    by_fold: list[Deviations]

    def loss(self, held_out: HeldOutRows) -> float:
        data, fit = held_out.data, held_out.fit
        chance = np.empty(len(data))
        for number, (fold, deviations) in enumerate(zip(fit.folds, self.by_fold, strict=True)):
            rows = np.flatnonzero(fit.held_out == number)
            arm = fold.lookup[data.decision_maker_codes[rows]]
            chance[rows] = deviations.own(self.terms[rows], self.offset[rows], arm)
        losses = log_losses(np.column_stack([1.0 - chance, chance]), data.decision)
        return float(np.average(losses, weights=data.sample_weight))


def _fits(held_out: HeldOutRows, terms: np.ndarray, offset: np.ndarray, variance: float) -> list[Deviations]:
    data, fit = held_out.data, held_out.fit
    found = []
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out != number)
        arm = fold.lookup[data.decision_maker_codes[rows]]
        found.append(
            fit_deviations(
                terms[rows],
                offset[rows],
                arm,
                data.decision[rows],
                variance,
                fit.n_arms,
                None if data.sample_weight is None else data.sample_weight[rows],
            )
        )
    return found


def _terms(held_out: HeldOutRows, mean: np.ndarray, offset: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of the three sets of terms, of unit scale; the constant first."""
    data = held_out.data
    answer = np.log(np.maximum(mean, 1e-6))
    answer = answer[:, 1:] - answer[:, :1]
    columns = standardised(data.categorical).fit_transform(data.features)
    columns = columns - columns.mean(axis=0)
    # Principal components depend on the features alone, not on decisions or labels.
    _, directions = np.linalg.eigh(columns.T @ columns)
    components = columns @ directions[:, ::-1][:, :N_COMPONENTS]
    constant = np.ones((len(data), 1))
    scaled = _unit(offset[:, None])
    return {
        "level": constant,
        "level and slope": np.hstack([constant, scaled]),
        "level, slope, answer, components": np.hstack([constant, scaled, _unit(answer), _unit(components)]),
    }


def _unit(columns: np.ndarray) -> np.ndarray:
    columns = columns - columns.mean(axis=0)
    scale = columns.std(axis=0)
    return columns / np.where(scale > 1e-12, scale, 1.0)


def _with_leniency(
    held_out: HeldOutRows, mean: np.ndarray, structure: _Structure | None, terms: str, variance: float
) -> FirstStage:
    data = held_out.data
    instrument, strength = np.empty(len(data)), np.empty(len(data))
    for part in held_out:
        rows = part.rows
        if structure is None:
            leniency = part.labeled.sum(axis=2)
        else:
            deviations = structure.by_fold[part.fold]
            leniency = deviations.leniency(structure.terms[rows], structure.offset[rows])
        away = leniency - np.einsum("nz,zn->n", part.propensity, leniency)
        instrument[rows] = away[part.arm, np.arange(len(rows))]
        strength[rows] = np.einsum("nz,zn->n", part.propensity, away * leniency)
    moved = instrument * (data.decision - mean.sum(axis=1)) * data.weights
    if data.groups is not None:
        moved = np.bincount(data.groups, moved)
    return FirstStage(instrument, strength, mean, moved, terms, variance)
