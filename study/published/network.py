"""The released learner: one linear layer with a rectifier on its output, stopped after 200 steps of Adam."""

from typing import Any

import numpy as np

from selective_labels import InputError

RELEASED_STEPS = 200
BASELINE_RATE, PROPOSED_RATE = 0.01, 0.005


def cross_entropy_predictions(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    X_test: np.ndarray,
    n_classes: int,
    random_state: int,
    steps: tuple[int, ...] = (RELEASED_STEPS,),
    rate: float = BASELINE_RATE,
) -> list[np.ndarray]:
    """Train on labels with weighted cross-entropy; class codes at the test rows after so many steps."""
    torch = _import_torch()
    labels, weights = torch.as_tensor(y), torch.as_tensor(weight, dtype=torch.float32)

    def loss(scores: Any) -> Any:
        losses = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
        return (losses * weights).mean()

    return _train(torch, X, X_test, n_classes, loss, rate, random_state, steps)


def cost_predictions(
    X: np.ndarray,
    costs: np.ndarray,
    X_test: np.ndarray,
    random_state: int,
    steps: tuple[int, ...] = (RELEASED_STEPS,),
) -> list[np.ndarray]:
    """Train on costs with the paper's softmax loss; class codes at the test rows after so many steps."""
    torch = _import_torch()
    costs_tensor = torch.as_tensor(costs, dtype=torch.float32)

    def loss(scores: Any) -> Any:
        return (costs_tensor * torch.softmax(scores, dim=1)).sum(dim=1).mean()

    return _train(torch, X, X_test, costs.shape[1], loss, PROPOSED_RATE, random_state, steps)


def _train(
    torch: Any,
    X: np.ndarray,
    X_test: np.ndarray,
    n_classes: int,
    loss: Any,
    rate: float,
    random_state: int,
    steps: tuple[int, ...],
) -> list[np.ndarray]:
    features = torch.as_tensor(X, dtype=torch.float32)
    test = torch.as_tensor(X_test, dtype=torch.float32)
    torch.set_num_threads(1)
    predictions = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        network = torch.nn.Sequential(torch.nn.Linear(X.shape[1], n_classes), torch.nn.ReLU())
        optimiser = torch.optim.Adam(network.parameters(), lr=rate)
        for step in range(1, max(steps) + 1):
            optimiser.zero_grad()
            loss(network(features)).backward()
            optimiser.step()
            if step in steps:
                with torch.no_grad():
                    predictions.append(network(test).argmax(dim=1).numpy())
    return predictions


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise InputError("--protocol published needs PyTorch: pip install torch") from None
    return torch
