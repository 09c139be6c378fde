"""Every bad value of every option gets its sentence before anything is fitted."""

import time

import pytest
import typer

import selective_labels.cli.run_evaluation
import selective_labels.demo
import selective_labels.report.assess
from selective_labels.cli.app import app

from .conftest import ROLES

COMMANDS = typer.main.get_command(app).commands
# The rest of each command line, which is right.
BASES = {
    "check": ("check", "cases.csv", *ROLES),
    "fit": ("fit", "cases.csv", *ROLES, "--model", "m.skops"),
    "predict": ("predict", "{model}", "cases.csv", "--out", "p.csv"),
    "evaluate": ("evaluate", "cases.csv", *ROLES, "--predictions", "guess"),
    "ladder": ("ladder", "cases.csv", *ROLES, "--predictions", "guess"),
    "compare": ("compare", "cases.csv", *ROLES, "--a", "guess", "--b", "yes"),
    "report": ("report", "cases.csv", *ROLES, "--out", "r.html"),
    "sensitivity": ("sensitivity", "cases.csv", *ROLES, "--predictions", "guess"),
    "policy": ("policy", "cases.csv", *ROLES, "--predictions", "guess"),
    "drift": ("drift", "cases.csv", *ROLES, "--period", "officer"),
    "plan": ("plan", "cases.csv", *ROLES),
    "advice": (
        *("advice", "cases.csv", *ROLES),
        *("--advice", "score", "--shown", "released", "--high", "no"),
    ),
    "deciders": ("deciders", "cases.csv", *ROLES),
    "disparity": ("disparity", "cases.csv", *ROLES, "--by", "region"),
    "demo": ("demo",),
}
COLUMNS = [
    "label",
    "decision",
    "decision_maker",
    "strata",
    "groups",
    "weight",
    "predictions",
    "by",
    "features",
    "exclude",
    "include",
]
BAD = {
    **{
        name: ["nowhere", ""] for name in [*COLUMNS, "category", "number", "allow_leak", "keep", "with_human"]
    },
    "period": ["nowhere", ""],
    **{name: ["nowhere", ""] for name in ("advice", "shown", "score")},
    "high": ["maybe"],
    "reference": ["west"],
    "every": ["fortnight"],
    "fit_rows": ["0", "-5", "some"],
    "keep_scores": ["scores"],  # of a table that is read whole
    "case_id": ["score"],  # likewise
    "card": ["no/folder.md", "."],
    "over": ["faith"],
    "values": ["some", "nan", "-1"],
    "against": ["nowhere"],
    "compare_to": ["nowhere"],
    "rates": ["some", "2", "nan"],
    "rule": ["neither"],
    "cases": ["-1", "some", "nan"],
    "decision_makers": ["-1", "some", "inf"],
    "decision_means": ["maybe", ""],
    "pending": ["later", ""],
    "matured": ["nowhere", ""],
    "cases_per_year": ["-5", "some", "nan"],
    **{f"cost_{name}": ["five", "nan"] for name in ("inspect", "missed", "default", "declined_good")},
    "words": ["retail", "case=", "colour=red"],
    "leniency": ["2", "some", "nan"],
    "lottery": ["-1", "some", "999999"],
    "deciders": ["everybody"],
    "disparity": ["nowhere"],
    "width": ["-1", "some", "0", "nan"],
    "power": ["2", "some", "0", "1", "nan"],
    "data": ["nowhere.csv", "empty.csv", ".", ""],
    "files": ["nowhere.csv", "empty.csv", ".", ""],
    "fail_on": ["maybe"],
    "missing_score": ["some", "nan", ""],
    "accepted": ["nobody"],
    "separator": [";;", ""],
    "encoding": ["klingon", ""],
    "config": ["nowhere.toml", "cases.csv"],
    "save_config": ["no/folder.toml"],
    "model": ["no/folder.skops", "."],
    "out": ["no/folder/file", "."],
    "format": ["poem"],
    "mode": ["both"],
    "refused_have": ["nowhere", ""],
    "sheet": ["first"],
    "sql": ["SELECT 1"],
    "estimator": ["oracle"],
    "nuisance": ["oracle"],
    "assumption": ["faith"],
    "assume": ["faith:yes", "informed", "informed:maybe", "prevalence:yes=2", "refused:yes=3..1", ""],
    "interval": ["wide"],
    "cluster": ["town"],
    "propensity": ["guess"],
    "folds": ["1", "many", "1.5", "100000"],
    "repeats": ["0", "-1", "some"],
    "seed": ["-1", "pi"],
    "jobs": ["some", "0"],
    "confidence_level": ["0.2", "1", "1.5", "95", "nan", "high"],
    "metric": ["nonsense", "", "cost"],
    "pos_label": ["maybe", ""],
    "threshold": ["nan", "inf", "half"],
    "acceptance": ["-0.1", "60", "nan", "half"],
    "cost": ["five", "[[0,1]]", "[[0,1],[5]]", "[[0,1,2],[1,0,2],[1,1,0]]", '[["a","b"],[1,2]]', ""],
    "a": ["nowhere", "nowhere.skops", ""],
    "b": ["nowhere", "nowhere.skops", ""],
}
# Any text is right, there is nothing to give, or (missing, class) one that does not occur changes nothing.
FREE = {
    "anonymous",
    "title",
    "yes",
    "share_labels",
    "verbose",
    "simultaneous",
    "missing",
    "classes",
    "help",
    "install_completion",
    "show_completion",
}
# Where a base must differ, because two options do not go together.
INSTEAD = {
    ("fit", "refused_have"): ("fit", "cases.csv", *ROLES, "--model", "m.skops", "--mode", "auto"),
    ("predict", "model"): ("predict", "cases.csv", "--out", "p.csv"),
    ("evaluate", "model"): ("evaluate", "cases.csv", *ROLES),
    ("ladder", "model"): ("ladder", "cases.csv", *ROLES),
    ("compare", "with_human"): ("compare", "cases.csv", *ROLES, "--a", "guess", "--b", "human"),
}


def options():
    for name in BASES:
        for parameter in COMMANDS[name].params:
            if parameter.name not in FREE:
                yield name, parameter


def cases_of_options():
    """Each value with the first command that has the option; with all others in the long run."""
    tried = set()
    for name, parameter in options():
        for value in BAD.get(parameter.name, ()):
            marks = [pytest.mark.statistical] if (parameter.name, value) in tried else []
            tried.add((parameter.name, value))
            known = f"{name}-{parameter.name}-{value or 'empty'}"
            yield pytest.param(name, parameter, value, id=known, marks=marks)


def command_line(name, parameter, value, model):
    base = list(INSTEAD.get((name, parameter.name), BASES[name]))
    base = [str(model) if each == "{model}" else each for each in base]
    if parameter.param_type_name == "argument":
        base[base.index("cases.csv")] = value
        return base
    spelled = parameter.opts[0]
    if spelled in base:
        base[base.index(spelled) + 1] = value
        return base
    return [*base, f"{spelled}={value}"]


def test_every_option_of_every_command_is_tried():
    """A new option is listed here with values that it must refuse."""
    assert {parameter.name for _, parameter in options()} - set(BAD) == set()


@pytest.mark.parametrize(("name", "parameter", "value"), list(cases_of_options()))
def test_a_bad_value_gets_its_sentence_before_any_fit(run, data, model, monkeypatch, name, parameter, value):
    def fitted(*_, **__):
        raise AssertionError("something was fitted")

    monkeypatch.setattr("selective_labels.nuisance.cross_fit.FittingSettings.cross_fit", fitted)
    monkeypatch.setattr("selective_labels.diagnostics.diagnose.diagnose", fitted)
    monkeypatch.setattr(selective_labels.demo, "run", fitted)
    (data.parent / "empty.csv").touch()
    before = time.process_time()
    result = run(*command_line(name, parameter, value, model))
    assert time.process_time() - before < 2.0
    said = " ".join(result.stderr.split())
    assert result.exit_code in (1, 2), said
    if result.exit_code == 1:
        lines = [line for line in result.stderr.splitlines() if line]
        assert len(lines) == 1, said
        assert lines[0].startswith("Error: ")
        assert "unexpected" not in said
        assert "fitted" not in said
    else:
        assert "Invalid value" in said or "No such" in said, said
    assert result.stdout == ""
