"""The lazy object: what it can do without its rows, what it refuses, and what is wrong with files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import InputError, SelectiveLabels, UCLClassifier, deciders, diagnose, evaluate
from selective_labels.data import partition_sources, partitioned
from tests.evaluation.partitioned.tables import FEATURES, from_folder, in_memory, make_table, write

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}


@pytest.fixture
def folder(tmp_path):
    return write(make_table(900), tmp_path)


def test_it_says_what_it_is(folder):
    data = from_folder(folder, "strata", fit_rows=300)
    assert len(data) == 900
    text = repr(data)
    for words in (
        "900 cases",
        "3 partitions in 3 Parquet files",
        "'failed'",
        "'judge'",
        "fitted to 300 cases",
    ):
        assert words in text
    assert data.classes.tolist() == [0.0, 1.0]
    assert len(data.decision_makers) == 6


@pytest.mark.parametrize("name", ["X", "y", "decision", "decision_maker"])
def test_rows_are_refused_with_the_remedy(folder, name):
    with pytest.raises(InputError, match=r"partitions.*data\.sample"):
        getattr(from_folder(folder), name)


def test_what_needs_rows_in_memory_says_so(folder):
    with pytest.raises(InputError, match=r"^deciders needs rows in memory, .* give data\.sample"):
        deciders(from_folder(folder))
    with pytest.raises(InputError, match="share_labels=True needs all rows of a case in memory"):
        from_folder(folder, share_labels=True)


@pytest.mark.parametrize("path", ["folder", "glob", "file", "list"])
def test_a_folder_a_glob_a_file_and_a_list(folder, path):
    first = folder / "part-00.parquet"
    (folder / "_SUCCESS").write_text("")
    given = {"folder": folder, "glob": f"{folder}/*.parquet", "file": first, "list": [first, first]}[path]
    assert len(from_folder(given)) == (300 if path in ("file", "list") else 900)


def test_split_by_hash_is_a_partition_that_keeps_groups(folder):
    data = from_folder(folder, "groups")
    train, test = data.split(0.3, random_state=1)
    assert len(train) + len(test) == 900
    assert 0.2 < len(test) / 900 < 0.4  # 450 groups: the share's standard deviation is .022
    people = [set(part.sample_frame(900)["person"]) for part in (train, test)]
    assert not people[0] & people[1]
    again = from_folder(folder, "groups").split(0.3, random_state=1)[1]
    assert_array_equal(again.sample_frame(900).index, test.sample_frame(900).index)
    inner = test.split(0.5, random_state=1)[0]  # parts of parts are smaller
    assert 0 < len(inner) < len(test)


def test_take_keeps_a_share_and_has_no_row_numbers(folder):
    data = from_folder(folder)
    assert 50 < len(data.take(100)) < 160  # binomial: standard deviation 9.4
    assert_allclose(len(data.take(0.5)) / 900, 0.5, atol=0.09)
    with pytest.raises(InputError, match="no row numbers"):
        data.take(np.arange(3))
    with pytest.raises(InputError, match="must leave rows on both sides"):
        data.split(900)


def test_a_sample_is_what_the_rows_in_memory_say(folder):
    frame = make_table(900)
    whole = from_folder(folder).sample(900)
    assert_array_equal(whole.y, in_memory(frame).y)
    some = from_folder(folder).sample(200)
    assert len(some) == 200


def test_a_part_may_have_no_weight_but_not_the_table(folder):
    frame = make_table(900)
    frame.loc[:299, "weight"] = 0.0
    write(frame, folder)
    found = evaluate("guess", from_folder(folder, "sample_weight"), **QUICK)
    wanted = evaluate("guess", from_folder(folder, "sample_weight").split(0.5)[0], **QUICK)
    assert_allclose(found.lower, wanted.lower, atol=0.15)  # four errors of .035
    write(frame.assign(weight=0.0), folder)
    with pytest.raises(InputError, match="sample_weight is zero everywhere"):
        evaluate("guess", from_folder(folder, "sample_weight"), **QUICK)


def test_a_learner_and_the_checks_take_it(folder):
    data = from_folder(folder, fit_rows=500)
    model = UCLClassifier(estimator="linear", nuisance="logistic", random_state=0).fit(data)
    assert (model.n_fitted_, model.n_rows_) == (500, 900)
    bounds = model.predict_bounds(make_table(50, random_state=1)[FEATURES])
    assert bounds.lower.shape == (50, 2)
    result = evaluate(model, data.split(random_state=3)[1], **QUICK)
    assert 0.0 < result.lower < result.upper < 1.0
    diagnosis = diagnose(data, random_state=0, n_permutations=19)
    assert diagnosis.n_samples == 500
    assert "900 cases" in str(diagnosis)


def test_predictions_of_all_rows_are_those_of_rows_in_memory(folder):
    model = UCLClassifier("point", "linear", nuisance="logistic", random_state=0).fit(
        in_memory(make_table(600))
    )
    data, X = from_folder(folder, "groups"), make_table(900)[FEATURES]
    for method in ("predict", "decision_function", "predict_proba", "predict_set", "decided"):
        assert_array_equal(getattr(model, method)(data), getattr(model, method)(X))
    assert_array_equal(model.predict_bounds(data).upper, model.predict_bounds(X).upper)
    half = data.split(0.5, random_state=1)[0]
    assert_array_equal(model.predict(half), model.predict(half.sample_frame(900).sort_index()[FEATURES]))


def test_rows_are_counted_once(folder, monkeypatch):
    half = from_folder(folder).split(0.5)[0]
    n_rows = len(half)

    def over_rows(*given):
        raise AssertionError("counted again")

    monkeypatch.setattr(type(half), "over_rows", over_rows)
    assert len(half) == n_rows
    assert f"{n_rows:,} cases, 3 partitions" in repr(half)


@pytest.mark.parametrize(("own", "asked", "used"), [(None, 3, 3), (2, 3, 2), (None, None, None)])
def test_jobs_of_a_question_are_those_of_the_pass(folder, monkeypatch, own, asked, used):
    found = set()

    def over_parts(*given, n_jobs, what):
        found.add(n_jobs)
        return partition_sources.over_parts(*given, n_jobs=n_jobs, what=what)

    monkeypatch.setattr(partitioned, "over_parts", over_parts)
    evaluate("guess", from_folder(folder, n_jobs=own), n_jobs=asked, **QUICK)
    assert found == {used}


def test_missing_columns_are_named(folder):
    with pytest.raises(InputError, match="label='fail' is not a column"):
        from_folder(folder, label="fail")
    with pytest.raises(InputError, match="features='age' is not a column"):
        from_folder(folder, features=["age"])
    with pytest.raises(InputError, match="'judge' is given both as"):
        from_folder(folder, strata="judge")
    with pytest.raises(InputError, match="by='nowhere' is not a column"):
        evaluate("guess", from_folder(folder), by="nowhere", **QUICK)
    with pytest.raises(InputError, match="does not exist"):
        from_folder(folder / "nowhere")


def test_a_file_without_a_column_is_named(folder):
    make_table(50).drop(columns="x_2").to_parquet(folder / "part-03.parquet")
    with pytest.raises(InputError, match=r"part-03\.parquet has no column 'x_2'"):
        from_folder(folder)


def test_a_file_with_another_schema_is_named(folder):
    make_table(50).assign(judge=lambda each: each["judge"].astype(str)).to_parquet(folder / "part-03.parquet")
    with pytest.raises(InputError, match=r"'judge' is of type .*string in .*part-03\.parquet"):
        from_folder(folder)


def test_what_is_not_parquet_is_said(tmp_path):
    (tmp_path / "part.parquet").write_text("age,judge\n")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        from_folder(tmp_path)


def test_an_empty_partition_changes_nothing(folder):
    wanted = evaluate("guess", from_folder(folder), **QUICK)
    make_table(50).iloc[:0].to_parquet(folder / "part-01b.parquet")
    found = evaluate("guess", from_folder(folder), **QUICK)
    assert (found.lower, found.ci_upper) == (wanted.lower, wanted.ci_upper)


def test_a_class_in_one_partition_only_and_a_partition_without_labels(tmp_path):
    frame = make_table(1200, n_classes=3).sort_values("failed", kind="stable").reset_index(drop=True)
    assert frame["failed"].iloc[-300:].isna().all()
    assert set(frame["failed"].iloc[:100]) == {0.0}
    data = from_folder(write(frame, tmp_path, 8))
    assert data.classes.tolist() == [0.0, 1.0, 2.0]
    found = evaluate("guess", data, **QUICK)
    assert found.sample.n_labeled == frame["failed"].notna().sum()


def test_a_class_that_the_sample_misses_is_named(tmp_path):
    frame = make_table(900)
    frame.loc[np.flatnonzero(frame["released"])[0], "failed"] = 7.0
    write(frame, tmp_path)
    with pytest.raises(InputError, match=r"no row of class 7\.0 .*raise fit_rows"):
        evaluate("guess", from_folder(tmp_path, "groups", fit_rows=100), **QUICK)
    with pytest.warns(UserWarning, match=r"class 7\.0 occurs in one fold only \(1 rows\)"):  # as in memory
        evaluate("guess", from_folder(tmp_path, fit_rows=100), **QUICK)


def test_holes_where_they_must_not_be(folder):
    frame = make_table(50)
    frame["judge"] = frame["judge"].astype("Int64").where(frame.index != 3)
    frame.to_parquet(folder / "part-03.parquet")
    with pytest.raises(InputError, match="decision_maker is missing in 1 rows"):
        evaluate("guess", from_folder(folder), **QUICK)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"metric": "log_loss"},
            "'log_loss' needs probabilities: give a list of columns, one for each class",
        ),
        ({"instrument": "numeric"}, "instrument= is not available"),
        ({"assumption": "tilt"}, "'tilt' is not available"),
        ({"cv": [([0], [1])]}, "give a number of folds"),
        ({"y": [1, 0]}, "y is given twice"),
        ({"by": [1, 0]}, "by is an array"),
        ({"metric": "accuracy", "classifier": np.zeros(900)}, "give a fitted classifier, a class"),
        ({"classifier": "score"}, "is predicted in"),
    ],
)
def test_what_is_not_available_is_said_in_one_sentence(folder, options, words):
    given = {"classifier": "guess", "X": from_folder(folder)} | QUICK | options
    with pytest.raises(InputError, match=words):
        evaluate(**given)


def test_a_column_of_predictions_with_holes_is_refused(folder):
    make_table(50).assign(guess=lambda each: each["guess"].where(each.index != 3)).to_parquet(
        folder / "part-03.parquet"
    )
    with pytest.raises(InputError, match=r"'guess' has no prediction in 1 rows .*row 904"):
        evaluate("guess", from_folder(folder), **QUICK)


def test_a_decision_maker_of_several_types_in_memory_and_in_parts(tmp_path):
    data = SelectiveLabels.from_parquet(
        write(make_table(300), tmp_path), label="failed", decision_maker="judge", features=FEATURES
    )
    assert not data.survey().n_ignored
    assert data.survey().n_labeled == make_table(300)["released"].sum()
