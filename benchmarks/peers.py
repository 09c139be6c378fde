"""Beside what others offer, as a user would call them: EconML's OrthoIV, DoubleML's sample selection model.

They answer narrower questions: OrthoIV gives class probabilities under NUCEM, one model for each class; the
sample selection model gives one effect under its own assumptions. They are compared where they are installed
(the extra ``bench``).
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import selective_labels as sl
from benchmarks.floor import make_table
from benchmarks.ratios import Ratio, median_ratio, timed

N_SAMPLES, N_DECISION_MAKERS = 10_000, 8


def measure() -> list[Ratio]:
    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    return [
        compare(X, y, maker)
        for package, compare in (("econml", against_econml), ("doubleml", against_doubleml))
        if _installed(package)
    ]


def against_econml(X: np.ndarray, y: np.ndarray, maker: np.ndarray) -> Ratio:
    """Class probabilities under NUCEM: point mode, and Cov(DY_k, leniency) / Cov(D, leniency)."""
    from econml.iv.dml import OrthoIV

    decision, leniency = (y >= 0).astype(int), leave_one_out_leniency(y >= 0, maker)

    def theirs() -> np.ndarray:
        models = [
            OrthoIV(
                model_y_xw=HistGradientBoostingRegressor(random_state=0),
                model_t_xw=HistGradientBoostingClassifier(random_state=0),
                model_z_xw=HistGradientBoostingRegressor(random_state=0),
                discrete_treatment=True,
                random_state=0,
            ).fit((y == label).astype(float), decision, Z=leniency, X=X)
            for label in range(3)
        ]
        return np.column_stack([model.effect(X) for model in models])

    clf = sl.UCLClassifier("point", "linear", n_jobs=1, random_state=0)
    return median_ratio(
        "fit point and predict probabilities, n=10,000, J=8, K=3, over EconML's OrthoIV",
        lambda: clf.fit(X, y, decision_maker=maker).predict_proba(X),
        lambda: timed(theirs)[0],
    )


def against_doubleml(X: np.ndarray, y: np.ndarray, maker: np.ndarray) -> Ratio:
    """One number with its interval: accuracy under two assumptions, and an effect with selection modelled."""
    import doubleml

    chosen = X[:, :3].argmax(axis=1)
    leniency = leave_one_out_leniency(y >= 0, maker)

    def theirs() -> Any:
        data = doubleml.DoubleMLSSMData.from_arrays(
            x=X, y=(y == chosen).astype(float), d=(chosen == 2).astype(float), z=leniency, s=y >= 0
        )
        model = doubleml.DoubleMLSSM(
            data,
            ml_g=HistGradientBoostingRegressor(random_state=0),
            ml_pi=HistGradientBoostingClassifier(random_state=0),
            ml_m=HistGradientBoostingClassifier(random_state=0),
            score="nonignorable",
        )
        return model.fit()

    return median_ratio(
        "evaluate accuracy under instrument and nucem, n=10,000, J=8, K=3, over DoubleML's DoubleMLSSM",
        lambda: sl.evaluate(
            chosen, X, y, decision_maker=maker, assumption=["instrument", "nucem"], n_jobs=1, random_state=0
        ),
        lambda: timed(theirs)[0],
    )


def leave_one_out_leniency(decision: np.ndarray, maker: np.ndarray) -> np.ndarray:
    """Share of favourable decisions in the decision-maker's other cases."""
    codes = np.unique(maker, return_inverse=True)[1]
    return (np.bincount(codes, decision)[codes] - decision) / (np.bincount(codes)[codes] - 1)


def _installed(package: str) -> bool:
    if find_spec(package) is None:
        print(f"peers: {package} is not installed and is left out")
        return False
    return True
