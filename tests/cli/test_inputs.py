"""Costs, cut-offs, and the human beside the score: the numbers of the library, from options."""

import json

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.io.prepare import FeatureRules, prepare_table
from selective_labels.io.table_roles import Roles

from .conftest import QUICK, ROLES, schema

jsonschema = pytest.importorskip("jsonschema", reason="optional: jsonschema")
COST = ("--cost", "[[0,1],[5,0]]")
MATRIX = [[0, 1], [5, 0]]
FEATURES = ("--features", "age,debt")
FITTED = {"nuisance": "logistic", "cv": 2, "random_state": 0}


@pytest.fixture
def library(cases):
    roles = Roles(label="failed", decision="released", decision_maker="officer")
    return prepare_table(cases, roles, FeatureRules(features=["age,debt"])).data


@pytest.fixture
def found(run, data):
    def found(command, *options):
        result = run(command, data, *ROLES, *QUICK, *FEATURES, *options, "--format", "json")
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        jsonschema.validate(document, schema(command))
        return document

    return found


def ends(item):
    return [item[name] for name in ("lower", "upper", "ci_lower", "ci_upper")]


def ends_of(result):
    return [result.lower, result.upper, result.ci_lower, result.ci_upper]


def test_a_threshold_makes_classes_of_a_score(found, cases, library):
    document = found("evaluate", "--predictions", "score", "--threshold", 0.4, *COST)
    classes = np.where(cases["score"] >= 0.4, "yes", "no")
    expected = sl.evaluate(classes, library, metric=["accuracy", "cost"], cost=MATRIX, **FITTED)
    assert [each["metric"] for each in document["evaluations"]] == ["accuracy", "cost"]
    for item, result in zip(document["evaluations"], expected, strict=True):
        assert ends(item) == pytest.approx(ends_of(result), abs=1e-12)
    assert document["directions"] == {"accuracy": "higher", "cost": "lower"}
    assert document["cut"] == {"threshold": 0.4, "acceptance": None}


def test_an_acceptance_makes_a_policy_of_a_score(found, cases, library):
    document = found("evaluate", "--predictions", "score", "--acceptance", 0.5, *COST)
    policy = sl.Policy(cases["score"].to_numpy(), acceptance=0.5)
    names = ["failures", "failure_rate", "cost"]
    expected = sl.evaluate(policy, library, metric=names, cost=MATRIX, **FITTED)
    assert [each["metric"] for each in document["evaluations"]] == names
    for item, result in zip(document["evaluations"], expected, strict=True):
        assert ends(item) == pytest.approx(ends_of(result), abs=1e-12)


def test_probabilities_of_two_classes_are_scores(found, cases, library):
    document = found("evaluate", "--predictions", "score", "--metric", "brier")
    both = np.column_stack([1 - cases["score"], cases["score"]])
    expected = sl.evaluate(both, library, metric="brier", **FITTED)
    assert ends(document["evaluations"][0]) == pytest.approx(ends_of(expected), abs=1e-12)


@pytest.mark.parametrize("team", ["both", "either"])
def test_the_human_with_the_score_against_the_human(found, cases, library, team):
    document = found("compare", "--a", "score", "--b", "human", "--with-human", team, *COST)
    policy = sl.Policy(cases["score"].to_numpy(), with_human=team)
    expected = sl.compare(policy, "human", library, cost=MATRIX, **FITTED)
    assert document["comparison"]["metric"] == "cost"
    assert ends(document["comparison"]) == pytest.approx(ends_of(expected), abs=1e-12)


def test_the_human_is_evaluated_like_predictions(found, cases, library):
    document = found("evaluate", "--predictions", "human", "--metric", "accuracy", "--metric", "cost", *COST)
    expected = sl.evaluate("human", library, metric=["accuracy", "cost"], cost=MATRIX, **FITTED)
    assert document["subject"] == {"kind": "human", "name": "human"}
    for item, result in zip(document["evaluations"], expected, strict=True):
        assert ends(item) == pytest.approx(ends_of(result), abs=1e-12)
    rungs = found("ladder", "--predictions", "human")["rungs"]
    assert ends(rungs[1]) == pytest.approx(ends_of(expected[0]), abs=1e-12)
    curve = found("sensitivity", "--predictions", "guess", "--compare-to", "human", "--values", "1")
    compared = sl.sensitivity_curve(
        cases["guess"].to_numpy(), library, compare_to="human", values=[1], parameter="odds", **FITTED
    )
    assert curve["curve"][0]["lower"] == pytest.approx(compared.lower[0], abs=1e-12)


def test_the_word_human_wins_over_a_column(found, cases, data):
    before = found("evaluate", "--predictions", "human")["evaluations"][0]
    cases.assign(human=cases["guess"]).to_csv(data, index=False)
    assert ends(found("evaluate", "--predictions", "human")["evaluations"][0]) == ends(before)
    found("compare", "--a", "score", "--b", "human")


def test_a_column_of_decisions_is_refused(refused, cases, data):
    copy = cases["released"].astype(str).isin(["1", "yes", "True", "1.0"])
    cases.assign(copy=np.where(copy, "no", "yes")).to_csv(data, index=False)
    message = refused("evaluate", data, *ROLES, *QUICK, *FEATURES, "--predictions", "copy")
    assert 'give "human"' in message


def test_options_that_the_human_does_not_go_with(refused, data):
    command = ("evaluate", data, *ROLES, *FEATURES, "--predictions", "human")
    assert "decisions, not scores" in refused(*command, *QUICK, "--metric", "auc")
    assert "leave it out" in refused(*command, "--threshold", "0.5")
    assert "a score accepts" in refused(*command, "--metric", "failures")


def test_cases_are_deferred_where_a_column_says_so(found, cases, library, data):
    marked = cases.assign(hard=(cases["score"].between(0.4, 0.6)).astype(int))
    marked.to_csv(data, index=False)
    document = found("compare", "--a", "score", "--b", "human", "--with-human", "hard", "--threshold", 0.5)
    policy = sl.Policy(cases["score"].to_numpy(), threshold=0.5, with_human=marked["hard"].to_numpy())
    expected = sl.compare(policy, "human", library, **FITTED)
    assert ends(document["comparison"]) == pytest.approx(ends_of(expected), abs=1e-12)


def test_undecided_cases_of_a_model_are_deferred(run, data, model):
    command = ("compare", data, *ROLES, *QUICK, "--a", model, "--b", "human", "--with-human", "undecided")
    result = run(*command, "--verbose")
    assert result.exit_code == 0, result.output
    assert "the human decides where the rule is undecided" in result.stdout
    assert "Numbers are a minus b; lower is better, so an interval below zero speaks for a." in result.stdout


def test_costs_are_learned_with_and_kept(found, run, data):
    document = found("fit", "--estimator", "linear", "--model", "m.skops", *COST)
    assert document["model"]["cost"] == MATRIX
    assert sl.load_model("m.skops").model.cost_.tolist() == MATRIX


def test_scores_where_classes_are_needed_get_a_hint(refused, data):
    command = ("evaluate", data, *ROLES, *FEATURES, "--predictions", "score")
    message = refused(*command)
    assert "'score' holds scores (" in message
    assert "and accuracy needs classes ('no', 'yes'): give --threshold NUMBER" in message
    assert "--threshold NUMBER" in refused("compare", data, *ROLES, *FEATURES, "--a", "score", "--b", "guess")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--threshold", "0.5", "--acceptance", "0.5"), "not both"),
        (("--acceptance", "1.5"), "must lie between 0 and 1"),
        (("--threshold", "nan"), "must be a finite number"),
        (("--acceptance", "0.5", "--metric", "accuracy"), "for accuracy give --threshold"),
        (("--threshold", "0.5", "--metric", "auc"), "leave --threshold out"),
        (("--metric", "failures", "--metric", "auc"), "auc is about predicted classes"),
        (("--metric", "cost"), "needs --cost"),
        (("--cost", "[[0,1],[5]]"), "is not a matrix of numbers in JSON"),
        (("--cost", "five"), "is not a matrix of numbers in JSON"),
        (("--cost", "[[0,1,2],[5,0,1],[1,1,1]]"), "3 rows and 3 columns, and the label has 2 classes"),
        (("--acceptance", "0.5", "--by", "region"), "--by goes with"),
    ],
)
def test_stakes_that_do_not_fit_are_refused(refused, data, options, words):
    assert words in refused("evaluate", data, *ROLES, *FEATURES, "--predictions", "score", *options)


def test_a_quick_check_speaks_up_where_cases_are_sorted(run, cases, data):
    """Officers who get the cases by age: SL204 sees it, and the warning stands in the JSON."""
    by_age = np.array([f"officer {code}" for code in range(5)])
    sorted_out = cases.assign(officer=by_age[np.digitize(cases["age"], [-1, -0.3, 0.3, 1])])
    sorted_out.to_csv(data, index=False)
    command = ("evaluate", data, *ROLES, *QUICK, *FEATURES, "--predictions", "guess", "--format", "json")
    result = run(*command)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert any(each.startswith("SL204") for each in document["warnings"])
    assert all(f"Warning: {each}" in result.stderr for each in document["warnings"])


def test_a_cut_meant_for_the_column_is_not_applied_to_the_model_beside_it(refused, data, model):
    """Scores of the model are probabilities: cut at 45, every case would have one class."""
    command = ("compare", data, *ROLES, "--a", model, "--b", "score", "--threshold", "45")
    message = refused(*command)
    assert "--threshold 45 gives every case one class: scores of this model are" in message
    assert "selective-labels predict" in message


def test_names_of_other_fields_are_translated(run, data):
    result = run("evaluate", data, *ROLES, *QUICK, "--predictions", "guess", "--metric", "sensitivity")
    assert result.exit_code == 1
    assert "It is called tpr here." in " ".join(result.stderr.split())
