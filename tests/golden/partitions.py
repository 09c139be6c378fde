"""Tables in partitions: the same questions, rows read a part at a time."""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import selective_labels as sl
from selective_labels import assumptions as a
from tests.golden import tables
from tests.golden.tables import COST, FAST, FASTER

FITTED = {"fit_rows": 400, "case_id": "case"}


def partitions():
    """Evaluate, compare, curves, checks and learning in partitions."""
    if find_spec("pyarrow") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        frame = tables.cases()
        frame = frame.assign(likely=frame["score"], unlikely=1.0 - frame["score"])
        for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
            frame.iloc[rows].to_parquet(Path(folder, f"part-{number}.parquet"))
        return _judged(folder) | _learned(folder) | _by_role(folder)


def _open(folder, **settings):
    given = tables.NAMED | {"features": tables.FEATURES} | FITTED | settings
    return sl.SelectiveLabels.from_parquet(f"{folder}/*.parquet", **given)


def _judged(folder):
    data = _open(folder)
    known = a.Instrument() & a.Informed("yes") & a.Prevalence("yes", (0.3, 0.7))
    metrics = ["accuracy", "tpr", "ppv", "cost"]
    probable = ["log_loss", "brier", "calibration"]
    policy = sl.Policy("score", acceptance=0.6)
    curve = sl.policy_curve("score", data, rates=[0.3, 0.6], cost=COST, **FASTER)
    return {
        "length": [len(data), len(data.sample(100)), data.classes, data.decision_makers],
        "metrics": sl.evaluate("guess", data, metric=metrics, cost=COST, assumption="all", **FAST),
        "auc": sl.evaluate("score", data, metric="auc", **FASTER),
        "probabilities": sl.evaluate(["unlikely", "likely"], data, metric=probable, **FASTER),
        "subgroups": sl.evaluate("guess", data, by="region", interval="set", **FASTER),
        "known": sl.evaluate("guess", data, assumption=known, **FASTER),
        "policy": sl.evaluate(policy, data, metric=["failures", "cost"], cost=COST, **FASTER),
        "compared": sl.compare("guess", "rival", data, **FASTER),
        "human": sl.compare("score", "human", data, cost=COST, **FASTER),
        "cut-offs": sl.threshold_curve("score", data, thresholds=[0.3, 0.5, 0.7], **FASTER),
        "policies": [curve, curve.human, curve.cut_offs, curve.against_human()],
        "ladder": sl.ladder("guess", data, assumptions=[a.Informed("yes"), known], **FASTER),
        "drift": sl.drift("guess", data, period="day", every="quarter", **FASTER),
        "plan": sl.plan(sl.evaluate("guess", data, **FASTER)),
        "checks": sl.diagnose(data, n_permutations=19, random_state=0),
    }


def _learned(folder):
    train, test = _open(folder).split(test_size=0.5, random_state=0)
    model = sl.UCLClassifier("partial", "linear", **FAST).fit(train)
    chosen = sl.UCLClassifier("point", "plug-in", **FAST).fit(train)
    frame = tables.cases()[tables.FEATURES].head(15)
    return {
        "parts": [len(train), len(test)],
        "learned": [model.predict(frame), model.predict_bounds(frame), model.worst_case_regret_],
        "point": [chosen.predict(frame), chosen.predict_proba(frame)],
        "model": sl.evaluate(model, test, metric=["accuracy", "regret"], **FAST),
        "baseline": sl.compare(model, sl.SelectedSampleClassifier("linear").fit(train), test, **FAST),
    }


def _by_role(folder):
    roles = {"sample_weight": "weight", "groups": "person", "strata": "court", "case_id": None}
    data = _open(folder, **roles)
    return {
        "roles": sl.evaluate("guess", data, metric=["accuracy", "tpr"], **FAST),
        "curve over rows": sl.evaluate("guess", _open(folder, fit_rows=None), **FAST),
        "kept": _kept(folder),
    }


def _kept(folder):
    """Scores that are kept, and found again."""
    data = _open(folder, keep_scores=Path(folder, "scores"))
    return [sl.evaluate("guess", data, metric=metric, **FAST) for metric in ("accuracy", "tpr")]
