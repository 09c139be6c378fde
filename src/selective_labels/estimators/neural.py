"""A small neural score function, trained with PyTorch (extra `neural`) and stored as numpy arrays."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from selective_labels._errors import InputError, needs
from selective_labels.identification.costs import MARGIN_LOSSES, CostSensitiveProblem
from selective_labels.nuisance.models.encoders import standardised_for_learner

BATCH_ROWS = 1024
# Training stops if the loss has not fallen by this fraction for this many epochs.
TOLERANCE, PATIENCE = 1e-3, 20
# Below this margin the exponential loss goes on as its tangent.
STEEPEST_MARGIN = -10.0


class NeuralScore(BaseEstimator):
    """Scores of a network with one hidden layer of rectified units, used by ``estimator="neural"``.

    Adam minimises the mean surrogate until the training loss stops falling. No validation rows are held out:
    a search should choose width, decay and epochs.

    Parameters
    ----------
    hidden_units : int
    learning_rate : float
    max_epochs : int
    weight_decay : float

    Attributes
    ----------
    scale : fitted Pipeline
        Set by `learn`, as is `layers`.
    layers : list of (weight, bias) numpy arrays

    Examples
    --------
    >>> NeuralScore(hidden_units=8)
    NeuralScore(hidden_units=8)
    """

    scale: Pipeline
    layers: list[tuple[np.ndarray, np.ndarray]]

    def __init__(
        self,
        hidden_units: int = 32,
        learning_rate: float = 0.01,
        max_epochs: int = 500,
        weight_decay: float = 1e-4,
    ):
        self.hidden_units = hidden_units
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.weight_decay = weight_decay

    def learn(
        self, problem: CostSensitiveProblem, surrogate: str, random_state: int | None = None
    ) -> "NeuralScore":
        """Return a fitted copy.

        Parameters
        ----------
        problem : CostSensitiveProblem
        surrogate : "softmax", "cross-entropy", "logistic", "hinge" or "exponential"
        random_state : int, optional
        """
        self._check()
        torch = _import_torch()
        learned = clone(self)
        learned.scale = standardised_for_learner(problem.X, problem.labels, problem.categorical)
        features = torch.as_tensor(learned.scale.transform(problem.X), dtype=torch.float32)
        targets = torch.as_tensor(_targets(problem, surrogate), dtype=torch.float32)
        weight = torch.as_tensor(problem.sample_weight / problem.sample_weight.mean(), dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):  # do not change the user's random state
            torch.manual_seed(0 if random_state is None else random_state)
            network = torch.nn.Sequential(
                torch.nn.Linear(features.shape[1], self.hidden_units),
                torch.nn.ReLU(),
                torch.nn.Linear(self.hidden_units, problem.n_classes),
            )
            self._train(torch, network, (features, targets, weight), surrogate)
        layers = [(layer.weight, layer.bias) for layer in (network[0], network[2])]
        learned.layers = [tuple(each.detach().numpy().astype(float) for each in layer) for layer in layers]
        return learned

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of every class, (n_samples, n_classes). Does not need PyTorch."""
        (hidden_weight, hidden_bias), (weight, bias) = self.layers
        hidden = np.maximum(self.scale.transform(X) @ hidden_weight.T + hidden_bias, 0.0)
        return hidden @ weight.T + bias

    def _check(self) -> None:
        whole, positive, least = "a whole number, 1 or larger", "larger than zero", "0 or larger"
        for name, words, right in (
            ("hidden_units", whole, self.hidden_units >= 1 and self.hidden_units % 1 == 0),
            ("max_epochs", whole, self.max_epochs >= 1 and self.max_epochs % 1 == 0),
            ("learning_rate", positive, 0.0 < self.learning_rate < np.inf),
            ("weight_decay", least, 0.0 <= self.weight_decay < np.inf),
        ):
            if not right:
                value = getattr(self, name)
                raise InputError(f"estimator=NeuralScore({name}={value!r}): must be {words}.", "estimator")

    def _train(self, torch: Any, network: Any, tensors: tuple[Any, Any, Any], surrogate: str) -> None:
        options = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        optimiser = torch.optim.Adam(network.parameters(), **options)
        features, targets, weight = tensors
        best, waited = float("inf"), 0
        for _ in range(self.max_epochs):
            total = 0.0
            for rows in torch.randperm(len(features)).split(BATCH_ROWS):
                loss = (weight[rows] * _loss(torch, network(features[rows]), targets[rows], surrogate)).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.item() * len(rows)
            waited = 0 if total < best - TOLERANCE * abs(total) else waited + 1
            best = min(best, total)
            if waited >= PATIENCE:
                return


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(f"estimator='neural' {needs('torch')}") from None
    return torch


def _targets(problem: CostSensitiveProblem, surrogate: str) -> np.ndarray:
    """Costs, gains or signed weights, at unit scale."""
    if surrogate in MARGIN_LOSSES:
        values = problem.signed_weight
        return values / (float(np.abs(values).mean()) or 1.0)
    values = problem.costs if surrogate == "softmax" else problem.gains
    return values / (float(np.ptp(values, axis=1).mean()) or 1.0)


def _loss(torch: Any, scores: Any, targets: Any, surrogate: str) -> Any:
    if surrogate == "softmax":
        return (targets * torch.softmax(scores, dim=1)).sum(dim=1)
    if surrogate == "cross-entropy":
        return -(targets * torch.log_softmax(scores, dim=1)).sum(dim=1)
    margin = (scores[:, 1] - scores[:, 0]) * torch.where(targets >= 0, 1.0, -1.0)
    phi = {
        "logistic": lambda a: torch.nn.functional.softplus(-a) / np.log(2.0),
        "hinge": lambda a: torch.clamp(1.0 - a, min=0.0),
        "exponential": lambda a: _exponential(torch, a),
    }[surrogate]
    return targets.abs() * phi(margin)


def _exponential(torch: Any, margin: Any) -> Any:
    """e^-a, below -10 its tangent: single precision would overflow, and a flat end has no gradient."""
    capped = torch.clamp(margin, min=STEEPEST_MARGIN)
    return torch.exp(-capped) * (1.0 + capped - margin)
