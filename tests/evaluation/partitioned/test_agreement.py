"""Rows in memory and sums over partitions give the same numbers, with equally fitted or injected models."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from selective_labels import InputError, SelectiveLabels, compare, evaluate, threshold_curve
from selective_labels.evaluation.partitioned import cells, keys
from tests.evaluation.partitioned.tables import (
    FEATURES,
    folds_of,
    from_folder,
    in_memory,
    make_table,
    numbers,
    write,
)

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
# What sums in another order may differ by, and the issue's own limit.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}

CASES = {
    "plain, and who decides is chosen": ((), 2, 6, {"propensity": "auto"}),
    "many decision-makers are bands": ((), 2, 25, {"metric": ["accuracy", "tpr"]}),
    "weights and strata": (("sample_weight", "strata"), 3, 6, {"metric": ["accuracy", "ppv", "f1", "share"]}),
    "clusters are groups": (("groups",), 2, 6, {"metric": ["fpr", "balanced_accuracy"]}),
    "clusters are decision-makers": ((), 2, 6, {"cluster": "decision_maker"}),
    "weights in groups": (("sample_weight", "groups"), 2, 6, {"metric": ["tpr"]}),
    "several assumptions": ((), 2, 6, {"assumption": ["none", "instrument", "unconfounded"]}),
    "nucem": ((), 2, 6, {"assumption": "nucem"}),
    "set": ((), 2, 6, {"interval": "set", "confidence_level": 0.9}),
    "assignment is modelled": ((), 2, 4, {"propensity": "model"}),
    "repeats": ((), 2, 6, {"n_repeats": 1, "cv": 3}),
    "many classes": ((), 5, 6, {"metric": ["accuracy", "tpr"]}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("by", [None, "region"])
def test_evaluate(case, by, tmp_path):
    roles, n_classes, n_makers, options = case
    frame = make_table(900 if by else 1200, n_classes, n_makers)
    cv = folds_of(
        frame["person"] if "groups" in roles else np.arange(len(frame)), n_folds=options.get("cv", 5)
    )
    asked = {"metric": ["accuracy"]} | QUICK | options
    wanted = evaluate(
        frame["guess"].to_numpy(),
        in_memory(frame, *roles),
        by=None if by is None else frame[by],
        **(asked | {"cv": cv}),
    )
    found = evaluate("guess", from_folder(write(frame, tmp_path), *roles), by=by, **asked)
    pairs = [*zip(wanted, found, strict=True)]
    if by is not None:
        pairs += [*zip(wanted.gaps, found.gaps, strict=True)]
    for one, other in pairs:
        assert (one.metric, one.assumption, one.subgroup) == (other.metric, other.assumption, other.subgroup)
        assert_allclose(numbers(other), numbers(one), **CLOSE)


def test_with_very_many_classes_intervals_are_wider_and_never_narrower(tmp_path, monkeypatch):
    frame = make_table(1200)
    monkeypatch.setattr(cells, "MOST_PARTS", 2)  # sums of fourth powers are bounded, not kept
    wanted = evaluate(frame["guess"].to_numpy(), in_memory(frame), cv=folds_of(np.arange(1200)), **QUICK)
    found = evaluate("guess", from_folder(write(frame, tmp_path)), **QUICK)
    assert_allclose([found.lower, found.upper], [wanted.lower, wanted.upper], **CLOSE)
    assert found.ci_lower <= wanted.ci_lower
    assert found.ci_upper >= wanted.ci_upper
    assert found.sample.n_effective < wanted.sample.n_effective


@pytest.mark.parametrize("by", [None, "region"])
def test_scores_whose_values_the_sample_knows_are_ranked_exactly(by, tmp_path):
    frame = make_table(1200)
    how = {"metric": ["auc"], **QUICK}
    wanted = evaluate(
        frame["score"].to_numpy(),
        in_memory(frame),
        cv=folds_of(np.arange(1200)),
        by=None if by is None else frame[by],
        **how,
    )
    found = evaluate("score", from_folder(write(frame, tmp_path)), by=by, **how)
    for one, other in zip(wanted, found, strict=True):
        assert other.sample.rank_error == 0.0
        assert_allclose(numbers(other), numbers(one), **CLOSE)


def test_bins_of_ranks_state_their_error_and_include_it(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "MOST_EDGES", 40)
    frame = make_table(1500)
    frame["score"] += np.random.default_rng(1).uniform(0, 0.01, len(frame))  # no ties
    how = {"metric": "auc", **QUICK}
    wanted = evaluate(frame["score"].to_numpy(), in_memory(frame), cv=folds_of(np.arange(1500)), **how)
    found = evaluate("score", from_folder(write(frame, tmp_path)), **how)
    error = found.sample.rank_error
    assert 1e-4 < error < 0.05
    assert found.lower <= wanted.lower
    assert found.upper >= wanted.upper
    assert_allclose([found.lower, found.upper], [wanted.lower, wanted.upper], atol=2.0 * error)
    assert "Ranks are those of bins" in str(found)


def test_a_fitted_classifier_predicts_partition_by_partition(tmp_path):
    frame = make_table(1200)
    seen = frame[frame["released"] == 1]
    model = LogisticRegression().fit(seen[FEATURES[:4]], seen["failed"])
    how = {"metric": ["accuracy", "auc"], **QUICK}
    numeric = FEATURES[:4]
    lazy = from_folder(write(frame, tmp_path), features=numeric)
    found = evaluate(model, lazy, **how)
    memory = SelectiveLabels.from_frame(
        frame, label="failed", decision="released", decision_maker="judge", features=numeric
    )
    wanted = evaluate(model, memory, cv=folds_of(np.arange(1200)), **how)
    for one, other in zip(wanted, found, strict=True):
        assert_allclose(numbers(other), numbers(one), **CLOSE)


def test_injected_probabilities(tmp_path):
    frame = make_table(1200)

    def injected(X):
        leniency = np.linspace(0.3, 0.8, 6)
        chance = 1.0 / (1.0 + np.exp(X[:, 0]))
        joint = leniency[None, :, None] * np.stack([1 - chance, chance], axis=1)[:, None, :]
        return np.concatenate([1.0 - joint.sum(axis=2, keepdims=True), joint], axis=2)

    how = {"metric": ["accuracy", "tpr"], "nuisance": injected, "propensity": "shares", "random_state": 0}
    wanted = evaluate(frame["guess"].to_numpy(), in_memory(frame), **how)
    found = evaluate("guess", from_folder(write(frame, tmp_path)), **how)
    for one, other in zip(wanted, found, strict=True):
        assert_allclose(numbers(other), numbers(one), **CLOSE)


def test_every_label_seen_gives_means_of_labels(tmp_path):
    frame = make_table(600)
    frame["failed"], frame["released"] = frame["failed"].fillna(1.0), 1
    found = evaluate("guess", from_folder(write(frame, tmp_path)), **QUICK)
    share = np.mean(frame["guess"] == frame["failed"])
    assert_allclose([found.lower, found.upper], share, atol=1e-12)
    assert found.sample.n_fitted == 0


@pytest.mark.parametrize("metric", ["accuracy", "ppv", "tpr"])
def test_compare(metric, tmp_path):
    frame = make_table(1200)
    wanted = compare(
        frame["guess"].to_numpy(),
        frame["other"].to_numpy(),
        in_memory(frame),
        metric=metric,
        cv=folds_of(np.arange(1200)),
        **QUICK,
    )
    found = compare("guess", "other", from_folder(write(frame, tmp_path)), metric=metric, **QUICK)
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)
    assert_allclose(found.disagreement, wanted.disagreement, atol=1e-12)
    assert (found.verdict, found.sharp) == (wanted.verdict, wanted.sharp)


def test_compare_two_rankings(tmp_path):
    frame = make_table(1200)
    frame["score"] = frame["score"].round(1)
    scores = frame["score"].to_numpy(), frame["other_score"].to_numpy()
    wanted = compare(*scores, in_memory(frame), metric="auc", cv=folds_of(np.arange(1200)), **QUICK)
    found = compare("score", "other_score", from_folder(write(frame, tmp_path)), metric="auc", **QUICK)
    assert found.sample.rank_error == 0.0
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)


def test_threshold_curve(tmp_path):
    frame = make_table(1200)
    cuts = [-1.0, 0.0, 0.5]
    how = {"thresholds": cuts, **QUICK}
    wanted = threshold_curve(frame["score"].to_numpy(), in_memory(frame), cv=folds_of(np.arange(1200)), **how)
    found = threshold_curve("score", from_folder(write(frame, tmp_path)), **how)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), rtol=1e-8)
    assert len(threshold_curve("score", from_folder(tmp_path), metric="accuracy", **QUICK)) > 20


def test_a_sample_fits_and_all_rows_are_scored(tmp_path):
    frame = make_table(3000)
    found = evaluate("guess", from_folder(write(frame, tmp_path), fit_rows=800), **QUICK)
    assert found.sample.n == 3000
    assert abs(found.sample.n_fitted - 800) < 20
    assert "fitted to 800 of the cases; all are scored" in str(found)
    whole = evaluate("guess", from_folder(tmp_path), **QUICK)
    # Errors of both are below .025: four of them.
    assert_allclose([found.lower, found.upper], [whole.lower, whole.upper], atol=0.1)
    assert max(*found.standard_errors, *whole.standard_errors) < 0.025


def test_the_number_and_order_of_partitions_do_not_matter(tmp_path):
    frame = make_table(900).assign(case=lambda each: each.index)
    results = []
    for number, (order, n_parts) in enumerate([(frame.index, 1), (frame.index[::-1], 7)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        lazy = from_folder(write(frame.loc[order], folder, n_parts), case_id="case")
        results.append(
            numbers(evaluate("guess", lazy, nuisance="logistic", propensity="shares", random_state=0))
        )
    # Models meet the rows in another order, so that their solver stops elsewhere within its tolerance.
    assert_allclose(results[1], results[0], rtol=1e-4)


def test_kept_scores_serve_other_questions_without_a_model(tmp_path, monkeypatch):
    frame, scores = make_table(900), tmp_path / "scores"
    folder = tmp_path / "files"
    folder.mkdir()
    write(frame, folder)
    wanted = evaluate("guess", from_folder(folder), metric=["tpr", "fpr"], by="region", **QUICK)
    kept = from_folder(folder, keep_scores=scores)
    evaluate("guess", kept, **QUICK)
    n_files = len(list(scores.glob("*.parquet")))
    assert n_files == 3

    def refuse(*args, **kwargs):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("selective_labels.nuisance.cross_fit.cross_fit", refuse)
    found = evaluate("guess", kept, metric=["tpr", "fpr"], by="region", **QUICK)
    for one, other in zip([*wanted, *wanted.gaps], [*found, *found.gaps], strict=True):
        assert_allclose(numbers(other), numbers(one), **CLOSE)
    assert len(threshold_curve("score", kept, thresholds=[0.0], **QUICK)) == 1
    with pytest.raises(InputError, match="made otherwise; give another folder"):
        evaluate("guess", kept, cv=3, **QUICK)
    with pytest.raises(InputError, match="only with a random_state"):
        evaluate("guess", kept, nuisance="logistic")
    next(scores.glob("*.parquet")).unlink()
    with pytest.raises(InputError, match="is missing or of other rows"):
        evaluate("guess", kept, **QUICK)
