"""Numbers along a line: cut-offs, policies, ladders, time, knobs; plans, checks, named methods."""

import numpy as np
import pandas as pd

import selective_labels as sl
from selective_labels import assumptions as a
from tests.golden import tables
from tests.golden.judging import believed
from tests.golden.tables import COST, FAST, FASTER

RATES = [0.3, 0.5, 0.7]
MEASURES = ["failures", "failure_rate", "avoided", "good_lost", "acceptance", "cost", "profit"]
KNOBS = {
    "gamma": [1, 2, 4],
    "odds": [0.5, 1, 2],
    "ratio": [0.5, 1, 2],
    "share": [0.2, 0.5, 0.8],
    "kappa": [0, 0.1, 0.25],
    "rho": [0.02, 0.1],
    "prevalence": [0.45, 0.5, 0.6],
}


def curves():
    """Thresholds, ladders and drift."""
    score, rule, table = tables.score(), tables.guess(), tables.data()
    cuts = {"thresholds": [-1.0, 0.0, 1.0]}
    days = pd.to_datetime(tables.cases()["day"])
    steps = [a.Prevalence(1, (0.45, 0.6)), a.Informed(1), a.Refused(1, at_least=1, at_most=5, scale="odds")]
    wrong = a.Instrument() & a.Informed(0) & a.Prevalence(1, (0.97, 0.99))
    guess = tables.cases()["guess"].to_numpy()
    return {
        "cut-offs": sl.threshold_curve(score, table, **cuts, **FAST),
        "all cut-offs": sl.threshold_curve(score, table, metric=["error"], assumption="none", **FAST),
        "three": sl.threshold_curve(tables.score(3), tables.data(3), **cuts, **FAST),
        "ladder": sl.ladder(rule, table, assumptions=[*steps, "nucem", wrong], **FAST),
        "ladder of tpr": sl.ladder(rule, table, metric="tpr", assumptions=steps[:2], interval="set", **FAST),
        "quarters": sl.drift(guess, tables.named(), period=days, every="quarter", **FAST),
        "months": sl.drift(guess, tables.named("groups"), period=days, every="month", metric="tpr", **FAST),
        "regions": sl.drift(guess, tables.named(), period=tables.cases()["region"], **FAST),
    }


def policies():
    """Shares of cases accepted, by the score and with the human; costs, cut-offs, teams."""
    score, table, found = tables.score(), tables.data(), {}
    for rule in ("score", "both", "either"):
        curve = sl.policy_curve(score, table, rates=RATES, rule=rule, cost=COST, **FASTER)
        found[rule] = _policies(curve)
    known = a.Instrument() & a.Informed(1)
    found["informed"] = sl.policy_curve(score, table, rates=RATES, assumption=known, **FAST)
    found["default rates"] = sl.policy_curve(score, table, assumption="none", **FASTER)
    stakes = [[0.0, 1.0], [1.0, 1.0], [4.0, 1.0]]
    found["three"] = sl.policy_curve(tables.score(3), tables.data(3), rates=RATES, cost=stakes, **FASTER)
    return found | {"single": _single(score, table), "teams": _teams(score, table)}


def _policies(curve):
    found = {
        "curve": curve,
        "human": curve.human,
        "makers": curve.decision_makers,
        "against the human": curve.against_human(),
        "cost against the human": curve.against_human("cost"),
        "step": curve.difference(0.3, 0.5),
        "from the human": curve.difference("human", 0.7, "cost"),
    }
    cut = curve.cut_offs
    if cut is not None:
        found["cut-offs"] = [cut, cut.minimax_cost, cut.minimax_regret]
    return found


def _single(score, table):
    policy = sl.Policy(score, acceptance=0.6)
    return {
        "measures": sl.evaluate(policy, table, metric=MEASURES, cost=COST, **FASTER),
        "all": sl.evaluate(policy, table, assumption="all", **FASTER),
        "threshold": sl.evaluate(sl.Policy(score, threshold=0.2), table, cost=COST, **FASTER),
        "as many": sl.evaluate(sl.Policy(score), table, metric="failure_rate", **FASTER),
    }


def _teams(score, table):
    deferred = (tables.sample().X[:, 1] > 0.5).astype(int)
    teams = {name: sl.Policy(score, acceptance=0.6, with_human=name) for name in ("both", "either")}
    teams["deferred"] = sl.Policy(score, acceptance=0.6, with_human=deferred)
    found = {name: sl.compare(team, "human", table, cost=COST, **FASTER) for name, team in teams.items()}
    train, test = tables.halves()
    model = sl.UCLClassifier("partial", "linear", **FAST).fit(train)
    team = sl.Policy(model, acceptance=0.6, with_human="undecided")
    found["undecided"] = sl.evaluate(team, test, metric="failures", **FASTER)
    found["two scores"] = sl.compare(sl.Policy(score, 0.5), sl.Policy(-score, 0.5), table, **FASTER)
    return found


def plan():
    """What would settle it."""
    rule, rival, table = tables.guess(), tables.other(), tables.data()
    result = sl.evaluate(rule, table, **FAST)
    contest = sl.compare(rule, rival, table, **FAST)
    diagnosis = sl.diagnose(table, n_permutations=19, random_state=0)
    wanted = {"cases": 4, "decision_makers": 3, "leniency": 0.95, "lottery": 50, "width": 0.1}
    return {
        "evaluation": sl.plan(result),
        "wanted": sl.plan(result, **wanted),
        "comparison": sl.plan(contest, width=0.1, power=0.9),
        "worth": sl.plan(contest).worth[:20],
        "diagnosis": sl.plan(diagnosis, width=0.2),
        "combined": sl.plan(sl.evaluate(rule, table, assumption=believed()["informed"], **FAST)),
        "study": sl.plan_study(width=0.2, acceptance=0.5, leniency_spread=0.2),
        "effect": sl.plan_study(diagnosis, effect=0.05, power=0.9, disagreement=0.3, decision_makers=(4, 8)),
    }


def sensitivity():
    """Every knob, with where a conclusion flips."""
    rule, table, found = tables.guess(), tables.data(), {}
    for knob, values in KNOBS.items():
        found[knob] = _bent(sl.sensitivity_curve(rule, table, parameter=knob, values=values, **FAST))
    found["flips"] = _bent(sl.sensitivity_curve(rule, table, threshold=0.5, limit="none", **FAST))
    found["odds"] = _bent(
        sl.sensitivity_curve(rule, table, parameter="odds", values=[0.25, 1, 4], threshold=0.6, **FAST)
    )
    found["difference"] = _bent(
        sl.sensitivity_curve(rule, table, compare_to=tables.other(), values=[1, 1.5, 3], **FAST)
    )
    found["share of the last"] = _bent(
        sl.sensitivity_curve(None, table, metric="share", values=[1, 2], **FAST)
    )
    found["own"] = _bent(sl.sensitivity_curve(rule, table, **_known(), **FAST))
    roles = tables.named("sample_weight", "groups", "strata")
    guess = tables.cases()["guess"].to_numpy()
    found["roles"] = _bent(
        sl.sensitivity_curve(guess, roles, values=[1, 3], label_range=(0.01, 0.99), **FAST)
    )
    return found


def _known():
    def known(value):
        return a.Instrument() & a.Informed(1) & a.Prevalence(1, value)

    return {"assumption": known, "values": [0.45, 0.5, 0.6], "parameter": "share"}


def _bent(curve):
    names = ("limit_lower", "limit_upper", "threshold", "concluded_at", "break_even", "break_even_ci")
    names += ("break_even_below", "break_even_below_ci", "supported", "crossed", "ends_crossed")
    middle = curve.at(float(np.mean(curve.x[:2])))
    return {"curve": curve, "between": middle} | {name: getattr(curve, name) for name in names}


def diagnose():
    """Every check, by every role, and what it allows."""
    quick = {"n_permutations": 19, "cv": 2, "random_state": 0}
    given = tables.numeric()
    known = [believed()[name] for name in ("informed, prevalence", "odds", "same ranking", "rising risk")]
    diagnoses = {
        "two": sl.diagnose(tables.data(), **quick),
        "three": sl.diagnose(tables.data(3), **quick),
        "default": sl.diagnose(tables.named(), random_state=0),
        "roles": sl.diagnose(tables.named("sample_weight", "groups", "strata"), **quick),
        "panels": sl.diagnose(tables.panels(), **quick),
        "numeric": sl.diagnose(**_renamed(given), instrument="numeric", **quick),
        "known": sl.diagnose(tables.data(), assumptions=[*known, believed()["contradicted"]], **quick),
        "skewed": sl.diagnose(_skewed(), **quick),
    }
    found = {name: _diagnosed(each) for name, each in diagnoses.items()}
    found["believed"] = [_permission(diagnoses["known"].allows(each)) for each in known]
    return found


def _renamed(given):
    return {"X": given["X"], "y": given["y"], "decision_maker": given["decision_maker"]}


def _skewed():
    """Cases that go to decision-makers by what they are."""
    drawn = tables.sample()
    maker = np.where(drawn.X[:, 1] > 0, drawn.decision_maker % 2, drawn.decision_maker)
    return sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=maker)


def _diagnosed(diagnosis):
    families = ("relevance", "assignment", "overlap", "inequality", "monotonicity", "nucem", "crossing")
    families += ("skill", "unconfounded", "algebra")
    return {
        "checks": diagnosis,
        "families": {family: diagnosis.status(family) for family in families},
        "instrument": _permission(diagnosis.allows("instrument")),
        "given features": _permission(diagnosis.allows("instrument", given="features")),
        "nucem": _permission(diagnosis.allows("nucem")),
        "unconfounded": _permission(diagnosis.allows("unconfounded")),
        "verdict": f"{diagnosis.verdict} ",
    }


def _permission(permission):
    """As a condition, and the first word or two of the text."""
    begins = ("refuted", "doubtful", "not refuted", "cannot be checked")
    verdict = next(each for each in begins if str(permission).startswith(each))
    return {"allowed": bool(permission), "verdict": verdict, "text": f"{permission} "}


def literature():
    """Contraction, and extrapolation to leniency one."""
    score, table = tables.score(), tables.data()
    one = sl.contraction(score, table)
    bands = sl.quintile_contraction(score, table, n_bands=3, random_state=0)
    drawn = tables.sample(3)
    found = {
        "contraction": [one, one.versus_human(), one.decision_makers, one.at([0.2, 0.4])],
        "pooled": sl.contraction(score, table, pool=0.1, cv=2, random_state=0),
        "bands": [bands, bands.versus_human()],
        "strata": sl.quintile_contraction(_risk(), tables.named("strata"), n_bands=2, cv=None),
        "arrays": sl.contraction(tables.score(3), drawn.y, decision_maker=drawn.decision_maker, pos_label=1),
    }
    for form in ("linear", "quadratic", "local"):
        line = sl.extrapolate(tables.guess(), table, form=form, n_draws=20, random_state=0)
        values = {name: list(getattr(line, name)) for name in ("share", "tpr", "fpr", "accuracy")}
        found[form] = [line, values, line.leniency, line.reliability, line.max_leniency]
    found["three"] = sl.extrapolate(tables.guess(3), tables.data(3), n_draws=20, random_state=0)
    return found


def _risk():
    return tables.cases()["score"].to_numpy()
