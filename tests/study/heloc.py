"""A small table with the columns of HELOC that the experiment needs, and labels that go with them."""

from pathlib import Path

import numpy as np
import pandas as pd


def write_loans(path: Path, n_samples: int = 240) -> Path:
    rng = np.random.default_rng(0)
    risk = rng.integers(40, 95, n_samples)
    good = rng.random(n_samples) < 1 / (1 + np.exp(-(risk - 67) / 8))
    frame = pd.DataFrame(
        {
            "RiskPerformance": np.where(good, "Good", "Bad"),
            "ExternalRiskEstimate": risk,
            "NumSatisfactoryTrades": rng.integers(0, 40, n_samples),
            "MaxDelqEver": rng.integers(1, 9, n_samples),
        }
    )
    frame.to_csv(path, index=False)
    return path
