"""Bounds with pending outcomes as linear programs: labels of declined and pending cases are unknown."""

import numpy as np
from scipy.optimize import linprog


def worst_case_program(
    seen: np.ndarray,
    pending: np.ndarray,
    declined_worth: np.ndarray,
    accepted_worth: np.ndarray,
    shares: np.ndarray,
    informed: int | None = None,
) -> tuple[float, float]:
    """Smallest and largest Σ_z e_z Σ_k [d_kz c0_k + (p_kz + s_kz) c1_k] at one x.

    d_kz = P(Y=k, D=0 | z) and p_kz = P(Y=k, D=1, R=0 | z) are unknown, with known sums over k; the share
    η_k = d_kz + p_kz + s_kz of a class is the same for every z.

    Parameters
    ----------
    seen : (n_arms, n_classes) array
        s_kz = P(Y=k, D=1, R=1 | z).
    pending : (n_arms,) array
        P(D=1, R=0 | z).
    declined_worth, accepted_worth : (n_classes,) arrays
        c0 and c1.
    shares : (n_arms,) array
        e_z.
    informed : int, optional
        A class that is at least as frequent among declined cases as among accepted ones, for every z.
    """
    n_arms, n_classes = seen.shape
    accepted = seen.sum(axis=1) + pending
    size = n_arms * n_classes
    worth = np.concatenate(
        [np.outer(shares, declined_worth).ravel(), np.outer(shares, accepted_worth).ravel()]
    )
    rows, ends = [], []
    for arm in range(n_arms):
        for part, total in ((0, 1.0 - accepted[arm]), (size, pending[arm])):
            row = np.zeros(2 * size)
            row[part + arm * n_classes : part + (arm + 1) * n_classes] = 1.0
            rows.append(row)
            ends.append(total)
        for code in range(n_classes):
            row = np.zeros(2 * size)
            for sign, each in ((1.0, arm), (-1.0, 0)):
                row[[each * n_classes + code, size + each * n_classes + code]] += sign
            rows.append(row)
            ends.append(seen[0, code] - seen[arm, code])
    limits, most = [], []
    if informed is not None:
        for arm in range(n_arms):
            odds = (1.0 - accepted[arm]) / accepted[arm]
            row = np.zeros(2 * size)
            row[arm * n_classes + informed], row[size + arm * n_classes + informed] = -1.0, odds
            limits.append(row)
            most.append(-odds * seen[arm, informed])
    known = float(shares @ seen @ accepted_worth)
    found = []
    for sign in (1.0, -1.0):
        solved = linprog(
            sign * worth,
            A_ub=np.array(limits) if limits else None,
            b_ub=np.array(most) if limits else None,
            A_eq=np.array(rows),
            b_eq=np.array(ends),
            bounds=(0.0, None),
            method="highs",
        )
        assert solved.status == 0, solved.message
        found.append(known + sign * float(solved.fun))
    return found[0], found[1]
