"""Contraction and leniency groups, written out case by case."""

import numpy as np


def contracted(score, accepted, failed, n_kept):
    """Failures among the n_kept accepted cases of lowest score, per case; scores are distinct."""
    kept = sorted((s, f) for s, a, f in zip(score, accepted, failed, strict=True) if a)[:n_kept]
    return sum(f for _, f in kept) / len(score)


def group_of(decision_maker, strata, leniency, n_groups):
    """Leniency group of every case: rank of its decision-maker among those of its stratum."""
    groups = []
    for maker, stratum in zip(decision_maker, strata, strict=True):
        present = sorted(
            {m for m, s in zip(decision_maker, strata, strict=True) if s == stratum}, key=leniency.get
        )
        groups.append(int((present.index(maker) + 0.5) / len(present) * n_groups))
    return np.array(groups)
