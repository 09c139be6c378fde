"""A small neural score function (PyTorch, the extra `neural`); fitted weights are numpy arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from selective_labels.estimators.learners.problem import CostSensitiveProblem
from selective_labels.estimators.learners.surrogates import MARGIN_LOSSES
from selective_labels.models.features import standardised

HIDDEN_UNITS = 32
LEARNING_RATE = 0.01
WEIGHT_DECAY = 1e-4
BATCH_ROWS = 1024
MAX_EPOCHS = 500
# Training ends when the loss has not fallen by this part of itself for so many epochs.
TOLERANCE, PATIENCE = 1e-3, 20


@dataclass(frozen=True)
class NeuralScore:
    """One hidden layer of rectified units between features and scores.

    Attributes
    ----------
    scale : fitted Pipeline
    layers : list of (weight, bias) numpy arrays
    """

    scale: Pipeline
    layers: list[tuple[np.ndarray, np.ndarray]]

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of every class, (n_samples, n_classes); needs no torch."""
        (hidden_weight, hidden_bias), (weight, bias) = self.layers
        hidden = np.maximum(self.scale.transform(X) @ hidden_weight.T + hidden_bias, 0.0)
        return hidden @ weight.T + bias


def fit_neural(problem: CostSensitiveProblem, surrogate: str, random_state: int | None = None) -> NeuralScore:
    """Minimise the mean surrogate over a network by Adam, until the loss stops falling.

    Parameters
    ----------
    problem : CostSensitiveProblem
    surrogate : "softmax", "cross-entropy", "logistic", "hinge" or "exponential"
    random_state : int, optional

    Returns
    -------
    NeuralScore
    """
    torch = _import_torch()
    scale = standardised(problem.categorical).fit(problem.X)
    features = torch.as_tensor(scale.transform(problem.X), dtype=torch.float32)
    targets = torch.as_tensor(_targets(problem, surrogate), dtype=torch.float32)
    weight = torch.as_tensor(problem.sample_weight / problem.sample_weight.mean(), dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):  # leave the user's own random stream as it was
        torch.manual_seed(0 if random_state is None else random_state)
        network = torch.nn.Sequential(
            torch.nn.Linear(features.shape[1], HIDDEN_UNITS),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN_UNITS, problem.n_classes),
        )
        _train(torch, network, (features, targets, weight), surrogate)
    layers = [(layer.weight, layer.bias) for layer in (network[0], network[2])]
    arrays = [(w.detach().numpy().astype(float), b.detach().numpy().astype(float)) for w, b in layers]
    return NeuralScore(scale, arrays)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(
            "estimator='neural' needs PyTorch; install it with: pip install 'selective-labels[neural]'"
        ) from None
    return torch


def _targets(problem: CostSensitiveProblem, surrogate: str) -> np.ndarray:
    """Costs, gains or signed weights, at unit scale."""
    if surrogate in MARGIN_LOSSES:
        values = problem.signed_weight
        return values / (float(np.abs(values).mean()) or 1.0)
    values = problem.costs if surrogate == "softmax" else problem.gains
    return values / (float(np.ptp(values, axis=1).mean()) or 1.0)


def _train(torch: Any, network: Any, tensors: tuple[Any, Any, Any], surrogate: str) -> None:
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    features, targets, weight = tensors
    best, waited = float("inf"), 0
    for _ in range(MAX_EPOCHS):
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


def _loss(torch: Any, scores: Any, targets: Any, surrogate: str) -> Any:
    if surrogate == "softmax":
        return (targets * torch.softmax(scores, dim=1)).sum(dim=1)
    if surrogate == "cross-entropy":
        return -(targets * torch.log_softmax(scores, dim=1)).sum(dim=1)
    margin = (scores[:, 1] - scores[:, 0]) * torch.where(targets >= 0, 1.0, -1.0)
    phi = {
        "logistic": lambda a: torch.nn.functional.softplus(-a) / np.log(2.0),
        "hinge": lambda a: torch.clamp(1.0 - a, min=0.0),
        "exponential": lambda a: torch.exp(-torch.clamp(a, min=-10.0)),
    }[surrogate]
    return targets.abs() * phi(margin)
