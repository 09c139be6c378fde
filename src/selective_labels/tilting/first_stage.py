"""The structured first stage: who is how lenient, in few terms, chosen by the decisions alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from selective_labels.models.deviations import Deviations, fit_deviations
from selective_labels.models.features import standardised
from selective_labels.nuisance.selection import log_losses
from selective_labels.tilting.held_out import HeldOutRows

# Prior variances of the decision-makers' terms, from tight to loose.
VARIANCES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
N_COMPONENTS = 4
# Leniency is held this far from zero and one before its log-odds are taken.
EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class FirstStage:
    """An instrument of every row: how lenient its decision-maker is, beside who else might have decided.

    f = λ̃_Z(x) - Σ_z e_z(x) λ̃_z(x),   so that E[f | x] = 0

    Attributes
    ----------
    instrument : (n_samples,) array
        f, by a model that has not seen the row.
    strength : (n_samples,) array
        V = Σ_z e_z f_z λ̃_z = E[f D | x].
    mean : (n_samples, n_classes) array
        p̄_k = P(Y=k, D=1 | x), held out.
    moved : (n_units,) array
        f (D - λ̄) by row, or summed over groups of repeated cases; weighted.
    terms, variance
        What was chosen.
    """

    instrument: np.ndarray
    strength: np.ndarray
    mean: np.ndarray
    moved: np.ndarray
    terms: str
    variance: float

    @cached_property
    def concentration(self) -> float:
        """(Σ f (D - λ̄))² / Σ (f (D - λ̄))²: the squared t-value of "decision-makers move decisions"."""
        squares = float(np.sum(self.moved**2))
        return float(np.sum(self.moved)) ** 2 / squares if squares > 0.0 else 0.0


def first_stage(held_out: HeldOutRows) -> FirstStage:
    """Model how decision-makers deviate from the common leniency, and take the instrument from it.

    logit λ̃_z(x) = o(x) + b(x)·β_z,   o = logit λ̄(x), held out;
    b one of [1], [1, o], [1, o, log-odds of the labeled cases' answer, 4 principal components of x]

    Terms and ridge are those with the least held-out log-loss of the decision on the folds of the joint
    model. That model has a term for every feature, decision-maker and label, and little is left of a weak
    instrument in it; this one spends its few terms on what an instrument is made of. No label enters
    but by the labeled cases' answer, of models that have not seen the row.

    Probabilities that were given (`nuisance` a callable) are the first stage themselves.
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
            if loss > before:  # looser still loses more
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
    """Columns of the three structures, of unit scale; the constant first."""
    data = held_out.data
    answer = np.log(np.maximum(mean, 1e-6))
    answer = answer[:, 1:] - answer[:, :1]
    columns = standardised(data.categorical).fit_transform(data.features)
    columns = columns - columns.mean(axis=0)
    # Directions of the features alone; the few that hold most of what varies.
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
