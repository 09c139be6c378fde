"""What the commands take, Python takes, and the other way round."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest
import typer
from scipy.sparse import csr_array
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline

import selective_labels as sl
from selective_labels._validation import Fitting, Roles
from selective_labels.cli.app import app
from selective_labels.evaluation.evaluator import Inference
from selective_labels.report.assess import ReportSettings

from .conftest import QUICK, ROLES

COMMANDS = typer.main.get_command(app).commands
# Of each command, the functions that do the same.
FUNCTIONS = {
    "check": (sl.diagnose,),
    "evaluate": (sl.evaluate,),
    "ladder": (sl.ladder,),
    "compare": (sl.compare,),
    "policy": (sl.policy_curve,),
    "drift": (sl.drift,),
    "sensitivity": (sl.sensitivity_curve,),
    "plan": (sl.plan, sl.evaluate, sl.compare),
    "report": (sl.assess,),
    "fit": (sl.UCLClassifier, sl.UCLClassifier.fit),
}
# Options of reading files, choosing columns and writing results, for which Python has its own ways.
OF_THE_SHELL = {
    "refused_have",
    "cost_default",
    "cost_declined_good",
    "format",
    "verbose",
    "config",
    "save_config",
    "separator",
    "encoding",
    "missing",
    "sheet",
    "sql",
    "yes",
    "features",
    "exclude",
    "include",
    "category",
    "number",
    "allow_leak",
    "accepted",
    "classes",
    "case_id",
    "fit_rows",
    "keep_scores",
    "share_labels",
    "decision_means",
    "words",
    "pending",
    "matured",
    "missing_score",
    "out",
    "title",
    "help",
    "card",
    "context",
    "fail_on",
    "cost_inspect",
    "cost_missed",
    "cases_per_year",
}
# The same thing under the shell's word and under Python's.
PYTHON_NAMES = {
    "data": "X",
    "label": "y",
    "weight": "sample_weight",
    "folds": "cv",
    "jobs": "n_jobs",
    "seed": "random_state",
    "repeats": "n_repeats",
    "assume": "assumption",
    "over": "parameter",
    "against": "threshold",
    "predictions": "classifier",
    "model": "classifier",
    "acceptance": "classifier",
    "threshold": "classifier",
    "with_human": "a",
}
# What a function calls otherwise.
SPECIAL = {
    "policy": {"predictions": "scores", "model": "scores"},
    "ladder": {"assume": "assumptions", "assumption": "assumptions"},
    "report": {
        "predictions": "predictions",
        "model": "model",
        "threshold": "threshold",
        "assume": "assumptions",
    },
    "plan": {"against": "b"},
    "compare": {"threshold": "a", "acceptance": "a"},  # a Policy has them
    "fit": {"model": "self"},
    "check": {"assume": "assumptions"},
}


def parameters_of(function):
    """Names of all parameters, with those of the groups that are passed on."""
    parameters = inspect.signature(function).parameters
    names = set(parameters)
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        names |= {*Roles.__annotations__, *Fitting.__annotations__, *Inference.__annotations__}
    if function is sl.assess:
        names |= {*ReportSettings.__annotations__}
    return names


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_has_a_keyword(command):
    taken = set().union(*map(parameters_of, FUNCTIONS[command]))
    options = {each.name for each in COMMANDS[command].params} - OF_THE_SHELL
    called = {each: SPECIAL.get(command, {}).get(each, PYTHON_NAMES.get(each, each)) for each in options}
    missing = {option: name for option, name in called.items() if name not in taken}
    assert not missing, f"selective-labels {command} takes what Python does not: {missing}"


@pytest.mark.parametrize(
    "command", ["evaluate", "ladder", "compare", "policy", "drift", "sensitivity", "report"]
)
def test_every_own_keyword_has_an_option(command):
    """Keywords of one function; those that all share (roles, fitting, inference) are tried above."""
    own = set(inspect.signature(FUNCTIONS[command][0]).parameters) - {"settings"}
    names = PYTHON_NAMES | SPECIAL.get(command, {})
    spoken = {names.get(each.name, each.name) for each in COMMANDS[command].params}
    elsewhere = {
        # `over` names the parameter, which stands for the callable.
        "sensitivity": {"assumption", "limit", "cost"},
        "drift": {"cost"},
        "report": {"trained_elsewhere"},  # a model file knows
    }
    missing = own - spoken - elsewhere.get(command, set())
    assert not missing, f"Python takes what selective-labels {command} does not: {missing}"


def test_predict_takes_the_model_as_an_option_and_in_the_old_place(run, data):
    run(
        "fit",
        data,
        *ROLES,
        *QUICK,
        "--exclude",
        "guess,score",
        "--estimator",
        "plug-in",
        "--model",
        "m.skops",
    )
    for place in (("--model", "m.skops", data), ("m.skops", data)):
        found = run("predict", *place, "--out", "-")
        assert found.exit_code == 0, found.output
        assert len(found.stdout.splitlines()) == 601
    for wrong in ((data,), ("--model", "m.skops", data, data)):
        assert run("predict", *wrong, "--out", "-").exit_code == 1


def test_a_ladder_takes_scores_a_threshold_and_all_assumptions(run, data, cases):
    command = ("ladder", data, *ROLES, *QUICK, "--predictions", "score", "--exclude", "guess")
    found = run(
        *command, "--threshold", 0.5, "--cost", "[[0,1],[5,0]]", "--metric", "cost", "--assumption", "all"
    )
    assert found.exit_code == 0, found.output
    for name in ("none", "instrument", "nucem", "unconfounded"):
        assert name in found.stdout


def test_cases_without_a_score_get_one_on_request(run, cases, tmp_path):
    cases.assign(score=cases["score"].where(cases.index % 50 > 0)).to_csv(tmp_path / "blank.csv", index=False)
    command = ("evaluate", "blank.csv", *ROLES, *QUICK, "--predictions", "score", "--exclude", "guess")
    refused = run(*command, "--threshold", 0.5)
    assert refused.exit_code == 1
    assert "--missing-score" in refused.stderr
    assert run(*command, "--threshold", 0.5, "--missing-score", "highest").exit_code == 0


def test_check_fails_where_the_instrument_is_refuted(run, cases, tmp_path):
    # The officer is dealt by age, which stays outside the features: labels then depend on who decided.
    order = pd.qcut(cases["age"].rank(method="first"), 5, labels=False)
    cases.assign(officer=[f"officer {each}" for each in order]).to_csv(tmp_path / "sorted.csv", index=False)
    command = ("check", "sorted.csv", *ROLES, *QUICK, "--exclude", "guess,score")
    found = run(*command, "--format", "json")
    allowed = run(*command, "--fail-on", "never", "--format", "json")
    assert allowed.exit_code == 0
    assert allowed.stdout == found.stdout
    worst = [each["verdict"] for each in json.loads(found.stdout)["verdict"][:2]]
    assert (found.exit_code == 3) == (set(worst) == {"refuted"})
    assert run(*command).stdout.startswith("Can this data answer the question?")


def test_a_stratum_may_be_a_feature():
    frame = pd.DataFrame(
        {"x": range(6), "town": list("ababab"), "who": list("ccddcc"), "y": [1, None, 0, 1, None, 0]}
    )
    roles = {"label": "y", "decision_maker": "who", "strata": "town"}
    data = sl.SelectiveLabels.from_frame(frame, features=["x", "town"], **roles)
    assert list(data.feature_names) == ["x", "town"]
    with pytest.raises(sl.InputError, match="and as a feature"):
        sl.SelectiveLabels.from_frame(frame, features=["x", "who"], **roles)


def test_sparse_features_inside_a_pipeline():
    sample = sl.datasets.make_decision_makers(300, n_classes=2, random_state=0)
    rounded = csr_array(np.where(np.abs(sample.X) > 1.0, sample.X, 0.0))
    pipeline = make_pipeline(VarianceThreshold(), sl.SelectedSampleClassifier("linear"))
    found = pipeline.fit(rounded, sample.y).predict(rounded)
    dense = pipeline.fit(rounded.toarray(), sample.y).predict(rounded.toarray())
    np.testing.assert_array_equal(found, dense)
