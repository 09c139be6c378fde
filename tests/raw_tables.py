"""A table as people have it, and the numbers that it stands for."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from selective_labels.datasets import make_decision_makers

JOBS = np.array(["cook", "clerk", "nurse"], dtype=object)


class RawSample(NamedTuple):
    table: pd.DataFrame
    one_hot: pd.DataFrame
    y: np.ndarray
    decision_maker: np.ndarray
    y_true: np.ndarray


def make_raw_sample(n_samples: int = 400, n_classes: int = 2, n_makers: int = 4, seed: int = 0) -> RawSample:
    """A feature cut into three jobs, a tenth of them missing; the same with indicators made by hand.

    Indicators come first, in the order in which jobs appear, that of missing last.
    """
    sample = make_decision_makers(n_samples, n_classes, n_makers, random_state=seed)
    code = np.digitize(sample.X[:, 0], [-0.5, 0.5])
    job = JOBS[code]
    job[np.random.default_rng(seed).random(n_samples) < 0.1] = None
    table = pd.DataFrame({"age": sample.X[:, 1], "job": job, "income": sample.X[:, 2]})
    appearing = [each for each in dict.fromkeys(job) if each is not None]
    indicators = {f"is {each}": (job == each).astype(float) for each in appearing}
    one_hot = pd.DataFrame({**indicators, "no job": pd.isna(job).astype(float), **table.drop(columns="job")})
    return RawSample(table, one_hot, sample.y, sample.decision_maker, sample.y_true)


def renamed(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with other names of jobs, in another alphabetical order."""
    names = {"cook": "astronaut", "clerk": "zoologist", "nurse": "midwife"}
    return table.assign(job=[names.get(each) for each in table["job"]])
