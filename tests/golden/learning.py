"""What is read, learned and saved."""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import selective_labels as sl
from selective_labels import assumptions as a
from tests.golden import tables

ROWS = 15
METHODS = ("predict", "decision_function", "predict_proba", "predict_bounds", "predict_set", "decided")
ATTRIBUTES = (
    *("worst_case_regret_", "mode_", "classes_", "decision_makers_", "predicted_shares_", "crossed_share_"),
    *("disagreement_", "concentration_", "gate_open_", "shrinkage_", "one_step_", "n_ignored_labels_"),
    *("n_features_in_", "cost_"),
)


def data():
    """Tables with roles, splits, and samples with their truth."""
    found = {
        "named": _read(tables.named("sample_weight", "groups", "strata")),
        "arrays": _read(tables.data(3)),
        "panels": _read(tables.panels()),
        "halves": [_read(each) for each in tables.halves()],
        "groups kept": [_read(each) for each in tables.named("groups").split(0.3, random_state=1)],
        "taken": _read(tables.data().take(np.arange(0, 100, 3)).compact()),
    }
    notes = [
        sl.DiagnosticWarning("SL101", "weak"),
        sl.LargeWorkWarning("long"),
        sl.ConstantRuleWarning("one class"),
    ]
    found["warnings"] = [isinstance(each, UserWarning) for each in notes]
    return found | {"generators": _generators(), "errors": _errors()}


def _read(table):
    return {
        "n": len(table),
        "classes": table.classes,
        "makers": table.decision_makers,
        "n_makers": table.n_decision_makers,
        "labels": np.bincount(table.y + 1),
        "accepted": table.decision.sum(),
        "rows": [table.y[:ROWS], table.decision[:ROWS], table.decision_maker[:ROWS]],
        "ignored": table.n_ignored_labels,
        "weights": table.weights[:5],
        "text": f"{table} ",
    }


def _generators():
    make = sl.datasets
    drawn = {
        "decision_makers": tables.sample(2),
        "slack": make.make_decision_makers(60, additive=False, slack_class=1, random_state=0),
        "mirrored": make.make_decision_makers(60, mirrored=True, leniency_spread=0.5, random_state=0),
        "paper": make.make_paper_synthetic(60, random_state=0),
        "paper uc": make.make_paper_synthetic(60, "uc", 0.7, 0.3, random_state=0),
        "tilted": make.make_tilted(60, random_state=0),
    }
    found = {name: _truth(each) for name, each in drawn.items()}
    for name in ("decision_makers", "paper", "tilted"):
        oracle = drawn[name].oracle
        accuracies = [oracle.bayes_accuracy, oracle.minimax_accuracy, oracle.selected_accuracy]
        found[f"{name}, accuracies"] = accuracies
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    semi = make.make_selective(X, y, selection="uc", n_decision_makers=4, random_state=0)
    found["semi-synthetic"] = [semi.y[:ROWS], semi.decision_maker[:ROWS]]
    found["semi-synthetic truth"] = semi.oracle.decision_probabilities[:3]
    loans = make.make_loans(100)
    found["loans"] = [loans.table, loans.defaulted, loans.chance]
    return found | {"home loans": _home_loans()}


def _truth(drawn):
    oracle, X = drawn.oracle, drawn.X[:3]
    laws = [oracle.probabilities(X), oracle.joint(X), oracle.lower(X)]
    seen = [drawn.X[:3], drawn.y[:ROWS], drawn.decision[:ROWS], drawn.decision_maker[:ROWS]]
    return {"laws": laws, "sample": seen, "true": drawn.y_true[:ROWS]}


def _home_loans():
    """A small file in the form of the table that nobody may hand on."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(20, 90, (150, 3)), columns=["ExternalRiskEstimate", "a", "b"])
    frame.loc[:5, "a"] = -9
    good = frame["ExternalRiskEstimate"] + rng.normal(0, 15, 150) > 55
    frame.insert(0, "RiskPerformance", np.where(good, "Good", "Bad"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "heloc.csv")
        frame.to_csv(path, index=False)
        X, y = sl.datasets.load_heloc(path, special_as_missing=True)
        drawn = sl.datasets.make_fico(path, n_decision_makers=3, random_state=0)
    return [X.head(8), y[:ROWS], drawn.y[:40], drawn.oracle.decision_probabilities[:4]]


def _errors():
    """Mistakes: who is to blame, and what is said."""
    X, y = np.eye(4), [0, 1, -1, 0]
    asked = {
        "makers": lambda: sl.UCLClassifier().fit(X, y),
        "length": lambda: sl.SelectiveLabels.from_arrays(X, y, decision_maker=[1, 2]),
        "assumption": lambda: sl.evaluate(y, X, y, assumption="faith"),
        "metric": lambda: sl.evaluate(tables.guess(), tables.data(), metric="skill", **tables.FAST),
        "mode": lambda: sl.UCLClassifier(mode="best").fit(tables.data()),
    }
    return {name: _refusal(each) for name, each in asked.items()}


def _refusal(ask):
    try:
        ask()
    except sl.InputError as error:
        return {"refused": True, "text": f"{error} "}
    return {"refused": False}


def learners():
    """The classifier in every mode, with every learner, setting and role."""
    found = {}
    for mode in ("partial", "point", "tilt", "auto"):
        for estimator in ("linear", "plug-in"):
            for n_classes in (2, 3):
                name = f"{mode}, {estimator}, {n_classes}"
                found[name] = _learned(_classifier(mode, estimator), *tables.halves(n_classes))
    for name, settings in _settings().items():
        found[name] = _learned(_classifier(**settings), *tables.halves())
    for name, table in _roles().items():
        found[name] = _learned(_classifier(), *table.split(random_state=0), scored=name != "panels")
    found["default"] = _learned(sl.UCLClassifier(random_state=0), *tables.halves())
    return found | {"numeric": _numeric(), "neural": _neural()}


def _classifier(mode="partial", estimator="linear", **settings):
    return sl.UCLClassifier(mode, estimator, **tables.FAST | settings)


def _settings():
    alone = a.Instrument()
    learners = {
        "ridge": {"estimator": sl.LinearScore(ridge=0.1)},
        "scikit-learn": {"estimator": LogisticRegression()},
        "cross-entropy": {"surrogate": "cross-entropy"},
        "logistic": {"surrogate": "logistic"},
        "hinge": {"surrogate": "hinge"},
        "exponential": {"surrogate": "exponential"},
    }
    models = {name: {"nuisance": name} for name in ("quadratic", "index", "boosting")}
    stakes = {
        "cost": {"cost": tables.COST},
        "point cost": {"mode": "point", "cost": tables.COST},
        "balanced": {"cost": "balanced"},
        "one class": {"cost": [[0.0, 1.0], [500.0, 0.0]]},
        "label range": {"label_range": (0.05, 0.9)},
    }
    known = {
        "informed": {"assumption": alone & a.Informed(1, direction_known=True)},
        "prevalence": {"assumption": alone & a.Prevalence(1, (0.4, 0.6)), "estimator": "plug-in"},
        "refused": {"assumption": alone & a.Refused(1, at_least=0.5, at_most=2, scale="odds")},
    }
    return learners | models | stakes | known


def _roles():
    shares = np.full((len(tables.data()), 5), 0.2)
    drawn = tables.sample()
    lottery = sl.SelectiveLabels.from_arrays(
        drawn.X, drawn.y, decision_maker=drawn.decision_maker, assignment=shares
    )
    roles = tables.named("sample_weight", "groups", "strata")
    return {"roles": roles, "lottery": lottery, "panels": tables.panels()}


def _numeric():
    given, found = tables.numeric(), {}
    for mode in ("partial", "point"):
        model = _classifier(mode, instrument="numeric")
        model.fit(given["X"], given["y"], decision_maker=given["decision_maker"])
        found[mode] = _predictions(model, given["X"][:ROWS])
    return found


def _neural():
    if find_spec("torch") is None:
        return sl.NeuralScore(hidden_units=4).get_params()
    model = _classifier(estimator=sl.NeuralScore(hidden_units=4, max_epochs=20))
    model.fit(tables.halves()[0])
    return sl.NeuralScore(hidden_units=4).get_params()


def _learned(model, train, test, scored=True):
    model.fit(train)
    found = _predictions(model, test.X[:ROWS])
    return found | {"score": model.score(test)} if scored else found


def _predictions(model, X):
    found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "disagreement_"):
        found["predict_by_instrument"] = model.predict_by_instrument(X)
    return found | {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}


def baselines():
    """All classifiers to compare with, on two classes and three."""
    found = {}
    for n_classes in (2, 3):
        for name, model in _baselines(n_classes).items():
            found[f"{name}, {n_classes}"] = _learned(model, *tables.halves(n_classes), scored=False)
            everybody = tables.sample(n_classes)
            found[f"{name}, {n_classes}"]["score"] = model.score(everybody.X, everybody.y_true)
    roles = tables.named("sample_weight", "groups", "strata").split(random_state=0)
    found["default"] = _learned(sl.SelectedSampleClassifier(random_state=0), *roles, scored=False)
    found["weighted"] = _learned(sl.IPWClassifier("linear", cv=2, random_state=0), *roles, scored=False)
    return found


def _baselines(n_classes):
    fitted = {"random_state": 0}
    models = {
        "selected": sl.SelectedSampleClassifier("linear", **fitted),
        "ipw": sl.IPWClassifier("linear", cv=2, **fitted),
        "expert": sl.ExpertConsistencyClassifier(
            "linear", adverse_label=1, favourable_label=0, **tables.FAST
        ),
        "doubly robust": sl.DoublyRobustClassifier("linear", **tables.FAST),
        "doubly robust, up to": sl.DoublyRobustClassifier("linear", gamma=2.0, **tables.FAST),
        "fuzzy": sl.FuzzyAugmentationClassifier("linear", **fitted),
        "parcelling": sl.ParcellingClassifier("linear", factor=1.5, n_bands=4, **fitted),
        "reweighting": sl.ReweightingClassifier("linear", n_bands=4, **fitted),
    }
    if n_classes == 2:
        models |= {"heckman": sl.HeckmanClassifier(), "probit": sl.BivariateProbitClassifier()}
    return models


def saving():
    """Files of models, cards, and searches by the lower bound."""
    train, test = tables.halves()
    frame = pd.DataFrame(test.X, columns=list("abcd"))
    drawn = sl.SelectiveLabels.from_arrays(
        pd.DataFrame(train.X, columns=list("abcd")),
        np.where(train.decision == 1, train.y, -1),
        decision_maker=train.decision_maker,
    )
    model = _classifier().fit(drawn)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        sl.save_model(model, path)
        loaded = sl.load_model(path)
    same = [(getattr(loaded, name)(frame) == getattr(model, name)(frame)).all() for name in METHODS[:2]]
    card = sl.model_card(model, drawn, title="A card")
    return {
        "same": same,
        "classes": loaded.classes_,
        "predicted": loaded.predict(frame.head(ROWS)),
        "card": f"{card} ",
        "card lines": "worst-case regret" in card,
        "search": _search(),
    }


def _search():
    drawn = tables.sample(n_samples=300)
    given = {"decision_maker": drawn.decision_maker}
    with config_context(enable_metadata_routing=True):
        model, scorer, tpr = _classifier(), sl.lower_bound_scorer, sl.lower_bound_scorer(metric="tpr", cv=2)
        scores = cross_val_score(model, drawn.X, drawn.y, scoring=scorer, params=given, cv=KFold(2))
        rates = cross_val_score(model, drawn.X, drawn.y, scoring=tpr, params=given, cv=KFold(2))
        grid = {"estimator__ridge": [0.001, 1.0]}
        search = GridSearchCV(_classifier(estimator=sl.LinearScore()), grid, scoring=tpr, cv=KFold(2))
        search.fit(drawn.X, drawn.y, **given)
    means = search.cv_results_["mean_test_score"]
    return {"accuracy": scores, "tpr": rates, "grid": means, "best": search.best_params_}
