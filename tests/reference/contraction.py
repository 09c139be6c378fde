"""Contraction and leniency bands, written out case by case."""

import numpy as np


def contracted(score, accepted, failed, n_kept):
    """Failures among the n_kept accepted cases of lowest score, per case; scores are distinct."""
    kept = sorted((s, f) for s, a, f in zip(score, accepted, failed, strict=True) if a)[:n_kept]
    return sum(f for _, f in kept) / len(score)


def band_of(decision_maker, strata, leniency, n_bands):
    """Leniency band of every case: rank of its decision-maker among those of its stratum."""
    bands = []
    for maker, stratum in zip(decision_maker, strata, strict=True):
        present = sorted(
            {m for m, s in zip(decision_maker, strata, strict=True) if s == stratum}, key=leniency.get
        )
        bands.append(int((present.index(maker) + 0.5) / len(present) * n_bands))
    return np.array(bands)
