"""A table in memory, and the same in partitions: what both say must agree."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import SelectiveLabels
from selective_labels.data.row_hash import hash_folds, row_keys
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.cross_fit import FittingSettings

ROLES = {"sample_weight": "weight", "groups": "person", "strata": "court"}
FEATURES = ["x_1", "x_2", "x_3", "x_4", "job"]
NAMED = {"label": "failed", "decision": "released", "decision_maker": "judge"}


def make_table(n_samples=1500, n_classes=2, n_decision_makers=6, random_state=0):
    """Numbers, a category, every role, a guess and a score."""
    sample = make_decision_makers(
        n_samples,
        n_classes=n_classes,
        n_decision_makers=n_decision_makers,
        additive=False,
        random_state=random_state,
    )
    rng = np.random.default_rng(random_state)
    frame = pd.DataFrame(sample.X, columns=FEATURES[:4])
    frame["job"] = rng.choice(["cook", "clerk", "nurse"], n_samples)
    frame["failed"] = pd.Series(sample.y).where(sample.decision == 1)
    frame["released"], frame["judge"] = sample.decision, sample.decision_maker
    frame["weight"] = rng.uniform(0.5, 2.0, n_samples)
    frame["person"], frame["court"] = np.arange(n_samples) // 2, rng.choice(["north", "south"], n_samples)
    frame["region"] = rng.choice(["a", "b"], n_samples)
    frame["guess"] = np.where(frame["x_1"] > 0, 0.0, n_classes - 1.0)
    frame["other"] = np.where(frame["x_2"] > 0, 0.0, n_classes - 1.0)
    frame["score"] = -frame["x_1"].round(2)
    frame["other_score"] = -(frame["x_1"] + frame["x_2"]).round(1)
    return frame


def write(frame, folder, n_parts=3):
    """Files of rows in their order."""
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{number:02}.parquet")
    return folder


def in_memory(frame, *roles):
    return SelectiveLabels.from_frame(
        frame, **NAMED, features=FEATURES, **{role: ROLES[role] for role in roles}
    )


def from_folder(folder, *roles, **others):
    given = {role: ROLES[role] for role in roles}
    return SelectiveLabels.from_parquet(folder, **(NAMED | {"features": FEATURES} | given | others))


def folds_of(keys, random_state=0, n_folds=5):
    """Folds by hash as a list, so that rows in memory meet the same models."""
    seed = FittingSettings.read(None, random_state=random_state).repeated_seeds[0]
    folds = hash_folds(row_keys(keys), n_folds, seed)
    return [(np.flatnonzero(folds != each), np.flatnonzero(folds == each)) for each in range(n_folds)]


def numbers(result):
    """Everything that a result says in numbers."""
    sample = result.sample
    return np.array(
        [
            *(result.lower, result.upper, result.ci_lower, result.ci_upper),
            *(*result.standard_errors, result.correlation),
            *(sample.n, sample.n_labeled, sample.n_clusters, sample.n_effective, sample.n_decision_makers),
            *(sample.clipped_share, sample.bounded_share, sample.sharpness_lost),
        ],
        dtype=float,
    )


QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
STATED = sl.assumptions.Instrument() & sl.assumptions.Prevalence(1.0, (0.3, 0.6))


def learner():
    return sl.UCLClassifier(estimator="linear", nuisance="logistic", random_state=0)


# Every question that a table in partitions answers, by its name; `guess`, `score` and `day` are columns.
QUESTIONS = {
    "evaluate": lambda data: sl.evaluate(
        "guess",
        data,
        metric=["accuracy", "tpr", "ppv", "f1", "auc"],
        assumption=["none", "instrument", STATED],
        by="region",
        **QUICK,
    ),
    "compare": lambda data: sl.compare("guess", "other", data, **QUICK),
    "compare with the human": lambda data: sl.compare("guess", "human", data, **QUICK),
    "choose": lambda data: sl.Evaluator(data, **QUICK).choose({"guess": "guess", "other": "other"}),
    "threshold_curve": lambda data: sl.threshold_curve("score", data, thresholds=[-1.0, 0.0, 1.0], **QUICK),
    "policy_curve": lambda data: sl.policy_curve(
        "score", data, rates=[0.3, 0.6], cost=[[0, 1], [5, 0]], **QUICK
    ),
    "policy": lambda data: sl.evaluate(sl.Policy("score", acceptance=0.5), data, **QUICK),
    "ladder": lambda data: sl.ladder("guess", data, **QUICK),
    "drift": lambda data: sl.drift("guess", data, period="day", every="quarter", **QUICK),
    "plan": lambda data: sl.Evaluator(data, **QUICK).plan("guess", width=0.1),
    "diagnose": lambda data: sl.diagnose(data, n_permutations=19, random_state=0),
    "fit": lambda data: learner().fit(data),
    "losses": lambda data: sl.evaluate(
        learner().fit(data),
        data,
        metric=["regret", "cost"],
        cost=[[0, 1], [5, 0]],
        **QUICK,
    ),
}


def said(result):
    """Everything that the answer to a question says in numbers."""
    if isinstance(result, sl.UCLClassifier):
        return result.decision_function(make_table(50, random_state=5)[FEATURES])
    if isinstance(result, sl.Diagnosis):
        return np.array([np.nan if each.p_value is None else each.p_value for each in result], dtype=float)
    if isinstance(result, sl.Evaluation | sl.Comparison):
        return numbers(result)
    if isinstance(result, sl.Evaluations):
        return np.stack([numbers(each) for each in [*result, *(result.gaps or ())]])
    return result.to_frame().select_dtypes(["number", "bool"]).to_numpy(dtype=float)


def assert_same_answers(found, wanted):
    """Answers of two tables agree to 1e-8 in every number, and hold some."""
    found, wanted = said(found), said(wanted)
    assert found.size
    assert np.isfinite(found).any()
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
