"""Documents, pages and commands: what users see who write no Python."""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from unittest import mock

import pandas as pd

import selective_labels as sl
from selective_labels.cli import main
from tests.golden import tables
from tests.golden.plain import digest
from tests.golden.tables import COST, FAST, cases

ROLES = ("--label", "failed", "--decision", "released", "--decision-maker", "officer")
FEATURES = ("--features", ",".join([*tables.FEATURES, "amount"]))
QUICK = (*ROLES, *FEATURES, "--nuisance", "logistic", "--folds", "2")
EVERY_ROLE = ("--strata", "court", "--groups", "person", "--weight", "weight")
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def assess():
    """All that a report says, as a document."""
    train, test = tables.halves()
    model = sl.UCLClassifier("partial", "linear", **FAST).fit(train)
    described = sl.TableDescription(source="a file", title="A title", roles={"label": "failed"}, rule="mine")
    frame = cases()
    whole = {
        "predictions": frame["score"],
        "by": frame[["region"]],
        "cost": COST,
        "assumptions": [sl.assumptions.Informed("yes")],
        "period": pd.to_datetime(frame["day"]),
        "every": "quarter",
        "description": described,
    }
    return {
        "three": sl.assess(tables.data(3), predictions=tables.guess(3), **FAST),
        "model": sl.assess(test, model=model, trained_elsewhere=True, metric=["accuracy", "tpr"], **FAST),
        "whole": sl.assess(tables.named("groups"), **whole, **FAST),
    }


def commands():
    """Every command, as JSON."""
    return _run_all(_as_json)


def texts_of_commands():
    """Every command as a table, those without more options as CSV; further pages."""
    return _run_all(_as_texts) | {"further pages": _further_pages()}


def _further_pages():
    """A page with all sections, and the same as Markdown."""
    asked = ("report", "cases.csv", *QUICK, "--predictions", "score", "--by", "region")
    asked += ("--assume", "informed:yes", "--cost", "[[0,1],[5,0]]", "--period", "day", "--every", "quarter")
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cases().to_csv("cases.csv", index=False)
        for name in ("whole.html", "whole.md"):
            found[name] = [command(*asked, "--out", name)[0], _page(name)]
        found["Markdown"] = Path("whole.md").read_text()
    return found


def _run_all(run):
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cases().to_csv("cases.csv", index=False)
        found = {name: run(arguments) for name, arguments in _asked().items()}
        found["predictions"] = pd.read_csv("predicted.csv").head(20)
        found["pages"] = {name: _page(name) for name in ("report.html", "card.md")}
        found["kept options"] = _page("roles.toml")
        return found


def _asked():
    """Commands with options; models are fitted before they are used."""
    data = ("cases.csv", *QUICK)
    guess, score = ("--predictions", "guess"), ("--predictions", "score")
    known = ("--assume", "informed:yes", "--assume", "prevalence:yes=0.3..0.7")
    cost = ("--cost", "[[0,1],[5,0]]")
    model = ("--estimator", "linear", "--model", "model.skops", "--card", "card.md")
    return {
        "check": ("check", *data),
        "check, every role": ("check", *data, *EVERY_ROLE, *known, "--save-config", "roles.toml"),
        "check, from a file": ("check", "cases.csv", "--config", "roles.toml"),
        "check, guessed": ("check", "cases.csv", "--yes", "--exclude", "guess,rival,score", *QUICK[8:]),
        "fit": ("fit", *data, *model),
        "fit, known": ("fit", *data, *model[:2], "--model", "known.skops", *known, *cost),
        "predict": ("predict", "model.skops", "cases.csv", "--out", "predicted.csv", "--keep", "case"),
        "evaluate": ("evaluate", *data, *guess, "--metric", "accuracy", "--metric", "tpr"),
        "evaluate, model": ("evaluate", *data, "--model", "model.skops", "--metric", "auc"),
        "evaluate, roles": ("evaluate", *data, *guess, *EVERY_ROLE, "--by", "region", "--interval", "set"),
        "evaluate, all": ("evaluate", *data, *guess, *_each("--assumption", sl.assumptions.names())),
        "evaluate, known": ("evaluate", *data, *guess, *known),
        "evaluate, accepted": ("evaluate", *data, *score, "--acceptance", "0.6", *cost),
        "ladder": ("ladder", *data, *guess, *known),
        "compare": ("compare", *data, "--a", "guess", "--b", "rival"),
        "compare, human": ("compare", *data, "--a", "score", "--b", "human", "--with-human", "both", *cost),
        "compare, class": ("compare", *data, "--a", "model.skops", "--b", "no", "--metric", "tpr"),
        "policy": ("policy", *data, *score, "--rates", "0.3,0.6", *cost),
        "sensitivity": ("sensitivity", *data, *guess, "--against", "0.6", "--values", "0.5,1,2"),
        "sensitivity, gamma": ("sensitivity", *data, *guess, "--over", "gamma", "--compare-to", "rival"),
        "drift": ("drift", *data, *guess, "--period", "day", "--every", "quarter"),
        "plan": ("plan", *data, *guess, "--width", "0.1"),
        "plan, checks": ("plan", *data),
        "report": ("report", *data, *guess, "--metric", "accuracy", "--out", "report.html"),
        "no such table": ("check", "none.csv", *QUICK),
        "no such option": ("check", *data, "--nothing"),
    }


def _each(option, values):
    return [word for value in values for word in (option, value)]


def _as_json(arguments):
    status, out, err = command(*arguments, "--format", "json")
    return {"status": status, "said": f"{err} ", "json": json.loads(out) if status == 0 else None}


def _as_texts(arguments):
    forms = ("table", "csv") if arguments in _first_of_each() else ("table",)
    return {form: [f"{each} " for each in command(*arguments, "--format", form)] for form in forms}


def _first_of_each():
    """The first line of every command, but of report, which prints no more than its page has."""
    firsts = {arguments[0]: arguments for arguments in reversed(_asked().values())}
    return [arguments for name, arguments in firsts.items() if name != "report"]


def _page(name):
    return {"exists": Path(name).exists(), "digest": digest(Path(name).read_text())}


def demo():
    """The demonstration, with its page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        status, out, err = command("demo", "--out", "demo.html")
        return {"status": status, "out": f"{out} ", "said": f"{err} ", "page": _page("demo.html")}


def overview():
    """Help of every command."""
    names = ["demo", "check", "fit", "predict", "evaluate", "ladder", "compare", "report"]
    names += ["sensitivity", "policy", "drift", "plan", "advice", "deciders", "disparity"]
    found = {name: f"{command(name, '--help')[1]} " for name in names}
    return found | {"all": f"{command('--help')[1]} ", "version": f"{command('--version')[1]} "}


def command(*arguments):
    """Run a command in this process: its status, and what it wrote."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handlers = {each: signal.getsignal(each) for each in SIGNALS}
    words = ["selective-labels", *map(str, arguments)]
    with mock.patch.dict(os.environ, ENVIRONMENT), mock.patch.object(sys, "argv", words):
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main()
        except SystemExit as ended:
            status = ended.code
        finally:
            signal.set_wakeup_fd(-1)
            for each, handler in handlers.items():
                signal.signal(each, handler)
    return status, *(stream.buffer.getvalue().decode() for stream in (out, err))
