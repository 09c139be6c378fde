"""Roles are read from any table, checked once, and every mistake gets one clear sentence."""

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import InputError, SelectiveLabels
from selective_labels.evaluation.fitted_table import named_column
from selective_labels.evaluation.predictions import read_predictions

X = np.arange(12.0).reshape(6, 2)
MAKERS = ["a", "a", "b", "b", "a", "b"]
CODES = [1, -1, 0, 1, 0, -1]


def read(y, **roles):
    return SelectiveLabels.from_arrays(X, y, **{"decision_maker": MAKERS, **roles})


def with_holes(names, hole):
    return [hole if code == -1 else names[code] for code in CODES]


def polars_series(values):
    return pytest.importorskip("polars", reason="optional: polars").Series(values)


def polars_categorical(values):
    polars = pytest.importorskip("polars", reason="optional: polars")
    return polars.Series(values, dtype=polars.Categorical)


def arrow_array(values):
    return pytest.importorskip("pyarrow", reason="optional: pyarrow").array(values)


def arrow_chunks(values):
    return pytest.importorskip("pyarrow", reason="optional: pyarrow").chunked_array([values])


@pytest.mark.parametrize("hole", [-1, None, np.nan, pd.NA], ids=["minus one", "None", "NaN", "NA"])
@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [3, 7], [False, True], [0.0, 1.0]],
    ids=["strings", "integers", "booleans", "floats"],
)
def test_holes_among_labels_of_any_type(names, hole):
    data = read(with_holes(names, hole))
    assert_array_equal(data.y, CODES)
    assert_array_equal(data.decision, [1, 0, 1, 1, 1, 0])  # the holes say what was seen
    assert data.classes.tolist() == names
    assert {type(name) for name in data.classes.tolist()} == {type(names[0])}  # holes change no type
    assert data.n_ignored_labels == 0


@pytest.mark.parametrize(
    ("container", "names"),
    [
        (lambda values: pd.Series(values, dtype="Int64"), [0, 1]),
        (lambda values: pd.Series(values, dtype="boolean"), [False, True]),
        (lambda values: pd.Series(values, dtype="string"), ["no", "yes"]),
        (lambda values: pd.Series(values, dtype="category"), ["no", "yes"]),
        (lambda values: pd.Series(values, dtype="category"), [0, 1]),
        (pd.Categorical, ["no", "yes"]),
        (lambda values: np.array(values, dtype=object), ["no", "yes"]),
        (lambda values: pd.Series(values, index=range(6, 0, -1)), ["no", "yes"]),
        (lambda values: pd.DataFrame({"y": values}), ["no", "yes"]),
        (tuple, ["no", "yes"]),
        (polars_series, [0, 1]),
        (polars_series, ["no", "yes"]),
        (polars_categorical, ["no", "yes"]),
        (arrow_array, [0, 1]),
        (arrow_array, ["no", "yes"]),
        (arrow_chunks, [False, True]),
    ],
)
def test_labels_from_every_container(container, names):
    data = read(container(with_holes(names, None)))
    assert_array_equal(data.y, CODES)
    assert data.classes.tolist() == names
    assert {type(name) for name in data.classes.tolist()} == {type(names[0])}  # integers stay integers


def test_classes_are_those_seen_and_sorted():
    labels = pd.Categorical(["late", None, "early", "late", "early", None], categories=["z", "late", "early"])
    assert read(labels).classes.tolist() == ["early", "late"]  # a category without a row is no class


def test_with_a_decision_labels_of_the_unlabeled_are_counted_and_not_read():
    data = read(["no", "garbage", "yes", "no", "yes", None], decision=[1, 0, 1, 1, 1, 0])
    assert_array_equal(data.y, [0, -1, 1, 0, 1, -1])
    assert data.classes.tolist() == ["no", "yes"]
    assert data.n_ignored_labels == 1  # None was no label in the first place


def test_garbage_of_another_type_changes_no_class():
    clean = read([1, -1, 0, 1, 0, -1], decision=[1, 0, 1, 1, 1, 0])
    dirty = read([1, "junk", 0, 1, 0, 2.5], decision=[1, 0, 1, 1, 1, 0])
    assert_array_equal(clean.y, dirty.y)
    assert clean.classes.dtype == dirty.classes.dtype


def test_with_a_decision_minus_one_is_a_class():
    data = read([1, -1, -1, 1, -1, None], decision=[1, 0, 1, 1, 1, 0])
    assert data.classes.tolist() == [-1, 1]
    assert_array_equal(data.y, [1, -1, 0, 1, 0, -1])


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_a_hole_where_the_decision_is_one_names_its_rows(hole):
    with pytest.raises(ValueError, match=r"y is missing where decision is 1 in 2 rows \(1, 5\)"):
        read(with_holes(["no", "yes"], hole), decision=np.ones(6))


@pytest.mark.parametrize(
    "decision",
    [
        [True, False, True, True, True, False],
        np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
        pd.Series([1, 0, 1, 1, 1, 0], dtype="Int64"),
        pd.Series([1, 0, 1, 1, 1, 0], dtype="boolean"),
        pd.Categorical([1, 0, 1, 1, 1, 0]),
    ],
)
def test_decisions_of_any_type(decision):
    assert_array_equal(read([1, 5, 0, 1, 0, 5], decision=decision).y, CODES)


@pytest.mark.parametrize(
    "decision",
    [
        [None, 0, 1, 1, 1, 0],
        pd.Series([None, 0, 1, 1, 1, 0], dtype="Int64"),
    ],
    ids=["None", "NA"],
)
def test_other_decisions_are_refused(decision):
    with pytest.raises(ValueError, match=r"decision is neither 0 nor 1 in \d rows \(0"):
        read(CODES, decision=decision)


def test_other_decisions_are_refused_by_what_they_are():
    with pytest.raises(InputError, match=r"neither 0 nor 1 but '2', 'No' in 2 rows \(0, 3\)"):
        read(CODES, decision=[2, 0, 1, "No", 1, 0])


ORDERED = ["A", "R", "A", "A", "A", "R"]


@pytest.mark.parametrize("words", [("Yes", "no"), ("approved", "Declined"), ("TRUE", "FALSE")])
def test_decisions_in_common_words_are_read(words):
    yes, no = words
    decision = [yes, no, yes, yes, yes, no]
    assert read([1, -1, 0, 1, 0, -1], decision=decision).decision.tolist() == [1, 0, 1, 1, 1, 0]
    with pytest.raises(InputError, match="decision holds text"):  # labels only where the word is a no
        read([-1, 1, -1, -1, -1, 0], decision=decision)


@pytest.mark.parametrize("holes", [-1, None], ids=["-1", "None"])
@pytest.mark.parametrize("kind", [object, "category"])
def test_decisions_in_words_are_refused_with_what_to_write(holes, kind):
    frame = pd.DataFrame({"x": range(6), "doctor": list("aabbcc"), "ordered": pd.Series(ORDERED, dtype=kind)})
    frame["ill"] = [1, holes, 0, 1, 0, holes]
    roles = {"label": "ill", "decision": "ordered", "decision_maker": "doctor"}
    with pytest.raises(InputError) as refused:
        SelectiveLabels.from_frame(frame, **roles)
    said = str(refused.value)
    assert "holds text, 'A', 'R': make it 1 where the label is revealed, else 0" in said
    scope = {"frame": frame}
    exec(said.partition("such as ")[2].removesuffix("."), scope)
    data = SelectiveLabels.from_frame(scope["frame"], **roles)
    assert data.decision.tolist() == [1, 0, 1, 1, 1, 0]


def test_what_to_write_for_a_list_of_words_works_and_is_no_guess():
    with pytest.raises(InputError, match="holds text, 'A', 'R'") as refused:
        read([1, -1, 0, 1, 0, -1], decision=ORDERED)
    scope = {"decision": ORDERED}
    exec(str(refused.value).partition("such as ")[2].removesuffix("."), scope)
    assert scope["decision"] == [True, False, True, True, True, False]
    with pytest.raises(InputError) as refused:  # a label everywhere: which word is a yes cannot be told
        read([1, 1, 0, 1, 0, 1], decision=ORDERED)
    assert str(refused.value).endswith("else 0.")


def test_values_in_place_of_a_columns_name_are_refused():
    frame = pd.DataFrame({"x": range(6), "doctor": list("aabbcc"), "ordered": ORDERED, "ill": [1] * 6})
    with pytest.raises(InputError, match="decision is the values of a column; put them into the frame"):
        SelectiveLabels.from_frame(
            frame, label="ill", decision=frame["ordered"] == "Yes", decision_maker="doctor"
        )


@pytest.mark.parametrize(
    ("ids", "ordered"),
    [
        (["b", "a", "b", "a", "b", "a"], ["a", "b"]),
        ([10, 9, 10, 9, 10, 9], [9, 10]),
        ([0.5, 0.25, 0.5, 0.25, 0.5, 0.25], [0.25, 0.5]),
        ([True, False, True, False, True, False], [False, True]),
        (["b", 1, "b", 1, "b", 1], [1, "b"]),
        (pd.Categorical(list("bababa"), categories=["b", "a"]), ["a", "b"]),
        (pd.Series([2, 1, 2, 1, 2, 1], dtype="Int64"), [1, 2]),
        (pd.Series([(2, "x"), (1, "x")] * 3), [(1, "x"), (2, "x")]),
        (
            pd.to_datetime(["2021-01-01", "2020-01-01"] * 3),
            [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)],
        ),
    ],
    ids=["text", "integers", "floats", "booleans", "mixed", "category", "nullable", "tuples", "dates"],
)
def test_ids_of_any_type_are_coded_in_their_order(ids, ordered):
    data = read(CODES, decision_maker=ids)
    assert_array_equal(data.decision_maker_codes, [1, 0, 1, 0, 1, 0])
    assert data.decision_makers.tolist() == ordered
    assert data.n_decision_makers == 2


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_decision_makers", [1, 2, 6])
def test_any_number_of_classes_and_decision_makers(n_classes, n_decision_makers):
    rows = np.arange(60)
    data = SelectiveLabels.from_arrays(
        rows[:, None], rows % (n_classes + 1) - 1, decision_maker=rows % n_decision_makers
    )
    assert_array_equal(data.classes, np.arange(n_classes))
    assert data.n_decision_makers == n_decision_makers
    assert len(data) == 60


def test_weights_groups_and_strata_of_any_type():
    data = read(
        CODES,
        sample_weight=pd.Series([1, 2, 3, 4, 5, 0], dtype="Int64"),
        groups=["v", "u", "v", "u", "w", "w"],
        strata=[dt.date(2020, 1, 2), dt.date(2020, 1, 1)] * 3,
    )
    assert_allclose(data.sample_weight, np.array([1, 2, 3, 4, 5, 0]) / 2.5)  # of mean one
    assert_array_equal(data.groups, [1, 0, 1, 0, 2, 2])
    assert_array_equal(data.strata, [1, 0, 1, 0, 1, 0])


@pytest.mark.parametrize("known", [np.full((6, 2), 0.5), lambda X: np.full((len(X), 2), 0.5)])
def test_assignment_as_array_and_callable(known):
    assert_array_equal(read(CODES, assignment=known).assignment, np.full((6, 2), 0.5))


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            {"sample_weight": [1, 2, -1, 1, 1, 1]},
            r"sample_weight is negative or not a number in 1 rows \(2\)",
        ),
        ({"sample_weight": [1, 2, None, 1, 1, 1]}, r"not a number in 1 rows \(2\)"),
        ({"sample_weight": list("abcdef")}, "not a number in 6 rows"),
        ({"sample_weight": np.zeros(6)}, "zero everywhere"),
        ({"groups": [1, None, 2, 2, 1, 1]}, r"groups is missing in 1 rows \(1\)"),
        ({"strata": [1, None, 2, 2, 1, 1]}, r"strata is missing in 1 rows \(1\)"),
        (
            {"decision_maker": ["a", None, "b", "b", "a", np.nan]},
            r"decision_maker is missing in 2 rows \(1, 5\)",
        ),
        ({"decision_maker": 3}, "decision_maker must be one column"),
        ({"decision_maker": ["a", "b"]}, "decision_maker has 2 rows and X has 6"),
        ({"decision": [1, 0]}, "decision has 2 rows and X has 6"),
        ({"groups": [1]}, "groups has 1 rows and X has 6"),
        ({"assignment": np.full((6, 3), 1 / 3)}, r"must be \(rows, decision-makers\) = \(6, 2\)"),
        ({"assignment": np.full((6, 2), 0.4)}, "not a probability distribution in 6 rows"),
        ({"assignment": np.full((6, 2), np.nan)}, "not a probability distribution in 6 rows"),
    ],
)
def test_bad_roles(roles, message):
    with pytest.raises(ValueError, match=message):
        read(CODES, **roles)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1] * 6, "no label at all"),
        ([np.nan] * 6, "no label at all"),
        ([None] * 6, "no label at all"),
        ([1, 0, 1], "y has 3 rows and X has 6"),
        (np.zeros((6, 2)), r"y must be one column, not an array of shape \(6, 2\)"),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "continuous"),
        ([0, 1, np.inf, 1, 0, 1], "infinity"),
        (["a", 1, "a", 1, "a", 1], "y mixes labels of types int, str"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"] * 3), "y holds dates"),
        (np.array(["2020-01-01", "2020-01-02"] * 3, dtype="M8[D]"), "y holds dates"),
        ([dt.date(2020, 1, 1), None] * 3, "y holds dates"),
        (pd.to_timedelta([1, 2, 1, 2, 1, 2], unit="D"), "y holds dates"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        read(labels)


def test_no_label_where_the_decision_allows_one():
    with pytest.raises(ValueError, match="no label at all"):
        read(CODES, decision=np.zeros(6))


def make_table(n_rows=200):
    rng = np.random.default_rng(0)
    released = rng.integers(0, 2, n_rows)
    failed = [None if not seen else ["no", "yes"][rng.integers(2)] for seen in released]
    return {
        "age": rng.normal(size=n_rows).tolist(),
        "priors": rng.integers(0, 9, n_rows).tolist(),
        "judge": rng.choice(["ann", "bob"], n_rows).tolist(),
        "released": released.tolist(),
        "failed": failed,
        "weight": rng.uniform(size=n_rows).tolist(),
        "person": rng.integers(0, 50, n_rows).tolist(),
        "court": rng.choice(["x", "y"], n_rows).tolist(),
    }


def frame_of(library, table):
    module = pytest.importorskip(library, reason=f"optional: {library}")
    return module.table(table) if library == "pyarrow" else module.DataFrame(table)


ROLES = {
    "label": "failed",
    "decision": "released",
    "decision_maker": "judge",
    "sample_weight": "weight",
    "groups": "person",
    "strata": "court",
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_three_libraries_give_what_arrays_give(library):
    table = make_table()
    frame = frame_of(library, table)
    data = SelectiveLabels.from_frame(frame, **ROLES)
    arrays = SelectiveLabels.from_arrays(
        np.column_stack([table["age"], table["priors"]]),
        table["failed"],
        **{role: table[column] for role, column in ROLES.items() if role != "label"},
    )
    for name in ("y", "decision", "decision_maker_codes", "classes", "sample_weight", "groups", "strata"):
        assert_array_equal(getattr(data, name), getattr(arrays, name), err_msg=name)
    assert type(data.X) is type(frame)  # a table stays a table of its own library
    names = data.X.column_names if library == "pyarrow" else data.X.columns
    assert list(names) == ["age", "priors"]  # every column without another role


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_named_features_only(library):
    data = SelectiveLabels.from_frame(
        frame_of(library, make_table()),
        label="failed",
        decision_maker="judge",
        features=["priors"],
    )
    assert data.X.shape == (200, 1)
    assert_array_equal(data.decision, make_table()["released"])  # without a decision column: the holes


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("target", ["label", "decision"])
def test_a_disguised_column_is_named(library, target):
    table = make_table()
    noise = np.random.default_rng(1).uniform(0, 0.1, 200)
    if target == "label":
        table["disguise"] = [
            float(label == "yes") + e for label, e in zip(table["failed"], noise, strict=True)
        ]
    else:
        table["disguise"] = (3.0 - np.array(table["released"]) + noise).tolist()
    with pytest.warns(UserWarning, match=f"'disguise': each alone .nearly. gives the {target} away"):
        SelectiveLabels.from_frame(frame_of(library, table), **ROLES)


def test_duplicated_column_names_are_named():
    frame = pd.DataFrame(np.zeros((3, 4)), columns=["judge", "age", "age", "failed"])
    with pytest.raises(ValueError, match="several columns named 'age'"):
        SelectiveLabels.from_frame(frame, label="failed", decision_maker="judge")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "outcome"}, "label='outcome' is not a column"),
        ({"features": ["age", "height"]}, "features='height' is not a column"),
        ({"groups": "judge"}, "'judge' is given both as decision_maker and as groups"),
        ({"features": ["age", "failed"]}, "'failed' is given both as label and as a feature"),
        ({"features": ["age", "age"]}, "features names 'age' twice"),
        ({"features": []}, "no column is left"),
    ],
)
def test_bad_column_names(changes, message):
    with pytest.raises(ValueError, match=message):
        SelectiveLabels.from_frame(pd.DataFrame(make_table()), **{**ROLES, **changes})


def test_polars_frames_need_no_pyarrow():
    pytest.importorskip("polars", reason="optional: polars")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import polars as pl\n"
        "from selective_labels import SelectiveLabels\n"
        "frame = pl.DataFrame({'x': ['u', None, 'v'], 't': [1.5, None, 2.0], 'z': ['a', 'b', 'a'],"
        " 'y': ['no', None, 'yes']})\n"
        "print(SelectiveLabels.from_frame(frame, label='y', decision_maker='z').y.tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "[0, -1, 1]", run.stderr


def test_coded_like_another_table():
    data = read(["yes", None, "yes", "yes", "yes", None], decision_maker=["c", "b", "z", "b", "c", "z"])
    coded = data.coded_like(np.array(["maybe", "no", "yes"]), np.array(["a", "b", "c"]))
    assert_array_equal(coded.y, [2, -1, 2, 2, 2, -1])
    assert_array_equal(coded.decision_maker_codes, [2, 1, -1, 1, 2, -1])  # "z" is not in that table
    with pytest.raises(ValueError, match="'yes'"):
        data.coded_like(np.array(["maybe", "no"]), np.array(["a"]))


@pytest.mark.parametrize("text", ["", " ", "nan", "<NA>"])
def test_the_text_of_a_missing_label_is_no_class(text):
    labels = np.array(["good", text, "bad", text])
    with pytest.raises(InputError, match=r"^y holds the text .* in 2 rows \(1, 3\): make it None"):
        SelectiveLabels.from_arrays(np.eye(4), labels, decision_maker=list("abab"))
    decided = SelectiveLabels.from_arrays(
        np.eye(4), labels, decision=[1, 0, 1, 0], decision_maker=list("abab")
    )
    assert decided.classes.tolist() == ["bad", "good"]  # a label where the decision is a no is not read


def test_checks_in_fit_know_names_and_dates():
    days = pd.date_range("2024-01-01", periods=200).repeat(3)
    frame = pd.DataFrame({"opened": days, "age": 1.0, "label": 1.0, "who": "a"})
    data = SelectiveLabels.from_frame(frame, label="label", decision_maker="who")
    assert data.bare().feature_names == data.feature_names
    assert data.bare().kinds == data.kinds
    assert_array_equal(data.bare().columns_given, data.columns_given)


class TestRowsInAnotherOrder:
    """Columns are read by position: an index that says another order is an error, never a silent mixture."""

    frame = pd.DataFrame(
        {"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, None, 1], "z": list("abab")}, index=[7, 5, 6, 4]
    )

    @pytest.mark.parametrize("role", ["y", "decision_maker"])
    def test_roles(self, role):
        given = {"y": self.frame["y"], "decision_maker": self.frame["z"]}
        with pytest.raises(InputError, match=f"{role} has the rows of X in another order"):
            SelectiveLabels.from_arrays(self.frame[["x"]], **given | {role: given[role].sort_index()})

    def test_predictions_and_subgroups(self):
        data = SelectiveLabels.from_frame(self.frame, label="y", decision_maker="z", features=["x"])
        rule = (self.frame["x"] > 1).astype(int).sort_index()
        with pytest.raises(InputError, match="another order"):
            read_predictions(rule, data)
        with pytest.raises(InputError, match="by has the rows of X in another order"):
            named_column(rule, "by", data)

    def test_an_index_of_other_rows_says_nothing(self):
        y = self.frame["y"].reset_index(drop=True)
        assert len(SelectiveLabels.from_arrays(self.frame[["x"]], y, decision_maker=self.frame["z"])) == 4
