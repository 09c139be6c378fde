"""How good is a rule on everybody? Every metric, assumption, role and interval."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import selective_labels as sl
from selective_labels import assumptions as a
from tests.golden import tables
from tests.golden.tables import COST, FAST, FASTER

PREDICTED = ["accuracy", "error", "cost", "share", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "regret"]
PROBABLE = ["auc", "log_loss", "brier", "calibration"]
NAMES = ["none", "instrument", "nucem", "unconfounded", "tilt"]


@dataclass(frozen=True)
class HalfAsBad(a.Restriction):
    """An assumption of a user's own."""

    adverse: Any
    name = "half as bad"
    sentence = "refused cases fail at least half as often as accepted ones alike."

    def refused(self, accepted):
        return accepted / 2


def believed():
    """What can be known besides the instrument, alone and together."""
    alone = a.Instrument()
    informed, share = a.Informed(1), a.Prevalence(1, (0.45, 0.6))
    single = {
        "informed": alone & informed,
        "informed given features": alone & a.Informed(1, given="features"),
        "without instrument": a.Informed(1, given="features"),
        "ratio": alone & a.Refused(1, at_least=1, at_most=3),
        "odds": alone & a.Refused(1, at_least=0.5, at_most=2, scale="odds"),
        "share": alone & a.Refused(1, at_least=0.2, at_most=0.9, scale="share"),
        "prevalence": alone & share,
        "prevalence with error": alone & a.Prevalence(1, 0.5, standard_error=0.02),
        "similar bias": alone & a.SimilarBias(0.05),
        "rising risk": alone & a.RisingRisk(1),
        "same ranking": alone & a.SameRanking(),
        "label range": alone & a.LabelRange(0.02, 0.98),
        "near nucem": a.NearNucem(0.05),
        "own": alone & HalfAsBad(1),
    }
    joined = {
        "informed, prevalence": alone & informed & share,
        "all": a.combined(alone, informed, share, a.Refused(1, at_most=4, scale="odds")),
        "contradicted": alone & a.Informed(0) & a.Prevalence(1, (0.97, 0.99)),
    }
    return single | joined


def assumptions():
    """Each assumption: its numbers, and its name."""
    rule, table, found = tables.guess(), tables.data(), {}
    for name, assumed in believed().items():
        metric = ["accuracy", "share", "tpr"]
        found[name] = sl.evaluate(rule, table, metric=metric, assumption=assumed, **FASTER)
    objects = [a.NoAssumption(), a.Instrument(), a.Nucem(), a.Unconfounded(), a.EventTilt()]
    found["objects"] = sl.evaluate(rule, table, assumption=objects, **FAST)
    found["names"] = [a.names(), [each.name for each in a.known()], a.named("nucem").name]
    found["named"] = [each.name for each in a.NAMED]
    found["combinations"] = [f"{each.name} " for each in believed().values()]
    three = a.Instrument() & a.Informed([1, 2]) & a.Prevalence(2, (0.2, 0.5))
    found["three"] = sl.evaluate(tables.guess(3), tables.data(3), assumption=three, **FAST)
    shares = a.Prevalence("yes", {"east": (0.3, 0.6), "west": 0.45}, by="court")
    found["by court"] = sl.evaluate(_rule(), _with_court(), assumption=a.Instrument() & shares, **FAST)
    return found


def _with_court():
    features = [*tables.FEATURES, "court"]
    return sl.SelectiveLabels.from_frame(tables.cases(), **tables.NAMED, features=features)


def _rule():
    return tables.cases()["guess"].to_numpy()


def evaluation():
    """Every metric under every assumption, and every setting."""
    train, test = tables.halves()
    model = sl.SelectedSampleClassifier("linear", random_state=0).fit(train)
    asked = {"metric": PREDICTED + PROBABLE, "cost": COST, "assumption": NAMES}
    found = {"metrics": sl.evaluate(model, test, **asked, **FAST)}
    found["all"] = sl.evaluate(model, test, assumption="all", **FAST)
    found["objects"] = sl.evaluate(model, test, metric=_objects(), **FAST)
    found["default"] = sl.evaluate(model, test, random_state=0)
    found["evaluator"] = sl.Evaluator(test, **FAST).evaluate(model, metric=["tpr", "ppv"])
    found["probabilities"] = sl.evaluate(model.predict_proba(test.X), test, metric="brier", **FAST)
    for name, settings in _settings().items():
        asked = {"metric": ["accuracy", "tpr"]} | FASTER | settings
        found[name] = sl.evaluate(tables.guess(), tables.data(), **asked)
    first = found["all"][0]
    both = found["metrics"].select(metric="tpr")
    found["selected"] = [both, found["metrics"].one(metric="f1", assumption="none")]
    found["contradicts"] = [found["metrics"].contradicts(each) for each in both]
    found["other interval"] = first.with_interval("set", 0.9)
    return found | {"roles": _by_role(), "three": _three(), "numeric": _numeric(), "arrays": _arrays()}


def _objects():
    confusion = sl.Metric("1 taken for 0", lambda y, t: t == 0, lambda y, t: y == 1, greater_is_better=False)
    value = sl.policy_value({0: 1.0, 1: -5.0}, act=0, default=0.1)
    return [confusion, sl.conditional_rate(1, 0), value, *sl.calibration_bins(1, n_bins=3)]


def _settings():
    return {
        "set": {"interval": "set"},
        "level": {"confidence_level": 0.8},
        "decision-makers": {"cluster": "decision_maker"},
        "label range": {"label_range": (0.05, 0.9), "assumption": ["none", "instrument"]},
        "subgroups": {"by": np.where(tables.sample().X[:, 3] > 0, "high", "low"), "assumption": NAMES[:3]},
        "other class": {"pos_label": 0},
        "shares": {"propensity": "shares"},
        "model of who decides": {"propensity": "model"},
        "repeated": {"n_repeats": 2},
        "quadratic": {"nuisance": "quadratic"},
        "five folds": {"cv": 5},
    }


def _by_role():
    found = {}
    for roles in (("groups",), ("strata",), ("sample_weight",), ("sample_weight", "groups", "strata")):
        table = tables.named(*roles)
        found[", ".join(roles)] = sl.evaluate(
            _rule(), table, metric=["accuracy", "f1", "ppv"], assumption=NAMES[:4], **FAST
        )
    by = tables.cases()["region"]
    found["by region"] = sl.evaluate(_rule(), tables.named("groups"), by=by, **FAST)
    found["no clusters"] = sl.evaluate(_rule(), tables.named("groups"), cluster="none", **FAST)
    table = tables.panels()
    rule = (table.X[:, 0] > 0).astype(int)
    found["panels"] = sl.evaluate(rule, table, assumption=["none", "instrument"], metric="tpr", **FAST)
    return found


def _three():
    metric = ["accuracy", "share", "tpr", "fpr", "regret", "cost"]
    cost = [[0, 1, 2], [1, 0, 1], [3, 1, 0]]
    return sl.evaluate(tables.guess(3), tables.data(3), metric=metric, cost=cost, assumption=NAMES, **FAST)


def _numeric():
    given = tables.numeric()
    rule = (given["X"][:, 0] > 0).astype(int)
    asked = {"instrument": "numeric", "metric": ["accuracy", "tpr"], **FAST}
    return sl.evaluate(rule, given["X"], given["y"], decision_maker=given["decision_maker"], **asked)


def _arrays():
    """Roles as keywords: probabilities of decision-makers known, every label seen, nobody known."""
    drawn = tables.sample()
    rule, shares = tables.guess(), np.full((len(drawn.X), 5), 0.2)
    given = {"decision_maker": drawn.decision_maker, "decision": drawn.decision}
    return {
        "lottery": sl.evaluate(rule, drawn.X, drawn.y_true, assignment=shares, **given, **FAST),
        "function": sl.evaluate(
            rule, drawn.X, drawn.y_true, assignment=lambda X: np.full((len(X), 5), 0.2), **given, **FAST
        ),
        "everybody": sl.evaluate(rule, drawn.X, drawn.y_true, assumption="none", **FAST),
        "nobody": sl.evaluate(rule, drawn.X, drawn.y, assumption=["none", "unconfounded"], **FAST),
        "few": sl.evaluate(rule[:4], drawn.X[:4], drawn.y_true[:4], assumption="none"),
    }


def comparison():
    """Two rules, a rule and a class, a rule and the human; by every metric."""
    rule, rival, table = tables.guess(), tables.other(), tables.data()
    found = {}
    for metric in PREDICTED:
        if metric != "share":
            found[metric] = sl.compare(rule, rival, table, metric=metric, cost=COST, **FASTER)
    for assumption in [*NAMES, a.Instrument() & a.Informed(1) & a.Prevalence(1, (0.45, 0.6))]:
        name = assumption if isinstance(assumption, str) else "combined"
        found[f"under {name}"] = sl.compare(rule, rival, table, assumption=assumption, **FASTER)
    train, test = tables.halves()
    models = [each.fit(train) for each in (sl.SelectedSampleClassifier("linear"), sl.HeckmanClassifier())]
    for metric in ("auc", "log_loss", "brier", "accuracy"):
        found[f"models, {metric}"] = sl.compare(*models, test, metric=metric, **FASTER)
    found["class"] = sl.compare(rule, 1, table, **FAST)
    found["human"] = sl.compare(tables.score(), "human", table, cost=COST, **FAST)
    found["set"] = sl.compare(rule, rival, table, interval="set", confidence_level=0.9, **FAST)
    found["three"] = sl.compare(tables.guess(3), tables.other(3), tables.data(3), **FAST)
    roles = tables.named("sample_weight", "groups", "strata")
    found["roles"] = sl.compare(_rule(), tables.cases()["rival"].to_numpy(), roles, **FAST)
    found["worth"] = list(found["accuracy"].worth[:20])
    found["verdicts"] = [each.verdict for each in found.values() if hasattr(each, "verdict")]
    return found


def advice():
    """Advice shown by lot: with decision-makers, cut at several values, by subgroup at a cost."""
    table, drawn = tables.data(), np.random.default_rng(3)
    score, shown = tables.score(), drawn.integers(0, 2, len(table))
    asked, alone = {"shown": shown, "random_state": 0}, {"assumption": "none"}
    level = np.digitize(score, np.quantile(score, [0.3, 0.7]))
    by = np.where(np.arange(len(table)) % 3 == 0, "a", "b")
    found = {
        "named": sl.advice(table, advice=score > 0.5, nuisance="logistic", **asked),
        "lottery": sl.advice(table, advice=level, high="no", **alone, **asked),
        "plain": sl.advice(
            table, advice=level > 0, by=by, cost=COST, adjust=False, assumption="none", **asked
        ),
    }
    columns = ["what", "measure", "lower", "upper", "ci_lower", "ci_upper"]
    return {name: each.to_frame()[columns].to_dict("list") for name, each in found.items()}


def disparity():
    """Gaps of two and three groups, of decisions, a score and both, under several assumptions."""
    table, score = tables.data(), tables.score()
    two = np.where(tables.sample().X[:, 1] > 0.3, "a", "b")
    three = np.array(["a", "b", "c"])[np.arange(len(table)) % 3]
    found = {
        "score": sl.disparity(table, by=two, score=score, **FASTER),
        "none": sl.disparity(table, by=three, reference="c", assumption="none", **FASTER),
        "combined": sl.disparity(table, by=two, assumption=a.Instrument() & a.Informed(1), **FASTER),
        "classes": sl.disparity(tables.data(3), by=two, **FASTER),
    }
    columns = ["who", "measure", "subgroup", "reference", "lower", "upper", "ci_lower", "ci_upper"]
    return {name: each.to_frame()[columns].to_dict("list") for name, each in found.items()}


def deciders():
    """Decision-makers one by one, with and without a score, named and numbered, in strata with weights."""
    table, score = tables.data(), tables.score()
    roles = tables.named("sample_weight", "groups", "strata")
    found = {
        "score": sl.deciders(table, score=score, **FASTER),
        "numbered": sl.deciders(table, anonymous=True, **FASTER),
        "roles": sl.deciders(roles, **FASTER),
        "classes": sl.deciders(tables.data(3), assumption="none", **FASTER),
    }
    shares = found["score"].against_score
    rows = {name: each.to_frame().to_dict("list") for name, each in found.items()}
    return rows | {"share": [*shares.share, *shares.share_interval]}
