"""The published means, set beside ours."""

from pathlib import Path

import numpy as np
import pandas as pd

from selective_labels import InputError
from study.page.numbers import of, summary
from study.published.splits import BEST, MEAN

# Replications behind a published mean.
N_REPLICATIONS = {"synthetic": 100, "fico": 100, "sensitivity": 50}
# Our classifiers (honest protocol) in the words of the published results.
THEIR_NAMES = {
    ("synthetic", "linear"): "network",
    ("sensitivity", "linear"): "network",
    ("fico", "linear"): "LogisticRegression",
    ("fico", "boosting"): "GradientBoosting",
    ("fico", "adaboost"): "AdaBoost",
    ("fico", "forest"): "RandomForest",
    ("fico", "svm"): "SVM",
}
COLUMNS = ["experiment", "cell", "method", "classifier", "setting", "published", "published_std"]


def read_published(folder: Path | None) -> pd.DataFrame:
    """Published means and standard deviations in the names of our cells; empty without a folder."""
    if folder is None:
        return pd.DataFrame(columns=COLUMNS)
    readers = {"synthetic": _synthetic, "fico": _fico, "sensitivity": _sensitivity}
    frames = []
    for name, reader in readers.items():
        path = folder / f"{name}.csv"
        if path.exists():
            frames.append(reader(pd.read_csv(path)).assign(experiment=name)[COLUMNS])
    if not frames:
        raise InputError(f"{folder} holds none of synthetic.csv, fico.csv and sensitivity.csv.")
    return pd.concat(frames, ignore_index=True)


def published_with(published: pd.DataFrame, experiment: str, classifier: str) -> pd.DataFrame:
    """Published means of an experiment with the classifier that is ours or nearest to it."""
    theirs = THEIR_NAMES.get((experiment, classifier), classifier)
    return published[(published["experiment"] == experiment) & (published["classifier"] == theirs)]


def beside(rows: pd.DataFrame, published: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Our means of the published protocol, the published ones, the difference and its standard error.

    `mean_of_splits` is what ours would be without taking the best split.

    The error counts both sides; with one repetition of ours, its spread is taken to be the published one.
    """
    ours = of(rows, experiment=experiment, protocol="published", mirrored=False)
    names = ["cell", "method", "classifier", "setting"]
    ours = summary(ours, names)
    both = ours.merge(published[published["experiment"] == experiment], on=names)
    means = ours[ours["setting"].str.endswith(MEAN)]
    means = means.assign(setting=means["setting"].str.replace(MEAN, BEST), mean_of_splits=means["mean"])
    both = both.merge(means[[*names, "mean_of_splits"]], on=names, how="left")
    both["difference"] = both["mean"] - both["published"]
    spread = both["std"].fillna(both["published_std"])
    # Some published cells have a mean only; their error is then ours alone.
    theirs = both["published_std"].fillna(0.0) ** 2 / N_REPLICATIONS[experiment]
    both["difference_error"] = np.sqrt(spread**2 / both["count"] + theirs)
    return both


def gains_beside(both: pd.DataFrame) -> pd.DataFrame:
    """Partial minus selected, published and ours, from the table of :func:`beside`."""
    names = {"published": "published", "mean": "ours"}
    wide = both.pivot_table(index=["cell", "classifier"], columns="method", values=list(names))
    wide = wide.reindex(columns=[(column, method) for column in names for method in ("partial", "selected")])
    gains = {name: wide[column, "partial"] - wide[column, "selected"] for column, name in names.items()}
    return pd.DataFrame(gains).dropna()


def _synthetic(frame: pd.DataFrame) -> pd.DataFrame:
    cells = [f"{row.selection}-y{row.alpha_y}-d{row.alpha_d}" for row in frame.itertuples()]
    return _named(frame.assign(cell=cells, classifier="network", setting=BEST))


def _fico(frame: pd.DataFrame) -> pd.DataFrame:
    cells = [f"{row.selection}-a{row.alpha}" for row in frame.itertuples()]
    return _named(frame.assign(cell=cells, classifier=frame["estimator"], setting=BEST))


def _sensitivity(frame: pd.DataFrame) -> pd.DataFrame:
    # Printed as .3, .5 and .7, run as 3, 5 and 7, at alpha_y .5 and alpha_d .7 (correction E16).
    settings = [f"sigma={10 * sigma:.1f}, {BEST}" for sigma in frame["sigma"]]
    cells = frame["selection"] + "-y0.5-d0.7"
    return _named(frame.assign(cell=cells, classifier="network", setting=settings))


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"mean_accuracy": "published", "std_accuracy": "published_std"})
