"""The plain-language summary: sentences made from the numbers, each with the assumption that it needs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selective_labels._display import digits
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.parse import by_name
from selective_labels.evaluation.display import ENDS, money_a_year
from selective_labels.report.diagnosis import Basis
from selective_labels.report.document import (
    IF,
    MEANINGS,
    UNDER,
    amount,
    cost_range,
    full_sentence,
    is_empty,
    missing,
    percent,
    percent_range,
    points_range,
)
from selective_labels.report.wording import capital

# The summary suggests how to narrow intervals of at least this width (ten percentage points).
WIDE = 0.1
LOTTERY = "accepted at random"
BY_LOT = {
    "strata": "{makers} get their cases as if by lot",
    "features": "{makers} get comparable cases as if by lot",
}


@dataclass(frozen=True)
class Stated:
    """What the user states besides the instrument, and the numbers under the strongest part that fits.

    Attributes
    ----------
    names, sentences : tuple of str
        The parts that are used, and what they say.
    share, comparison : dict or None
        Share of the event, and the difference of the two rules, under all of them.
    """

    names: tuple[str, ...]
    sentences: tuple[str, ...]
    share: Mapping[str, Any]
    comparison: Mapping[str, Any] | None

    @classmethod
    def read(cls, sections: Mapping[str, Any], basis: Basis) -> "Stated | None":
        """The strongest step of the ladder that neither data nor checks contradict, if there is one."""
        ladder = sections.get("ladder", {"missing": ""})
        if "missing" in ladder or basis.given == "all seen":
            return None
        verdicts = sections.get("diagnosis", {}).get("verdict", ())
        refuted = {each["assumption"] for each in verdicts if each.get("verdict") == "refuted"}
        if basis.assumption == "none":
            refuted |= {each.name for each in by_name() if each.needs_decision_makers}
        else:
            refuted -= {"instrument"}
        rungs = ladder["ladders"][-1]["rungs"]
        usable = [
            each
            for each in rungs
            if each["ci_lower"] is not None and not {*each["assumption"].split(" & ")} & refuted
        ]
        if not usable:
            return None
        best = usable[-1]
        unsaid = {NoAssumption.name, Instrument.name}
        parts = [each for each in best["assumption"].split(" & ") if each not in unsaid]
        if not parts:
            return None
        added = {each["adds"]: each["sentence"] for each in rungs if not each["contradicted"]}
        comparison = ladder.get("comparison")
        if comparison is not None and comparison["assumption"] != best["assumption"]:
            comparison = None
        told = tuple(added[each] for each in parts if each in added)
        return cls(tuple(parts), told or (best["sentence"],), best, comparison)


def headline(
    answers: Mapping[str, Any], basis: Basis, words: Mapping[str, str], stated: Stated | None = None
) -> str | None:
    """The share of the event among accepted and among all cases; None if it is not available.

    The share among all cases is that under all that the user stated, unless the data contradict it.
    """
    if "missing" in answers:
        return None
    event, accepted = words["event"], words["accepted"]
    result, labeled = answers["event"]["result"], answers["event"]["labeled"]
    if stated is not None:
        result = {**result, **{end: stated.share[end] for end in ENDS}}
    elif is_empty(result) or result["lower"] is None:
        return None
    # The headline uses the confidence interval, which accounts for sampling error, if there is one.
    ends = ("lower", "upper") if result["ci_lower"] is None else ("ci_lower", "ci_upper")
    everybody = percent_range(*(result[end] for end in ends))
    if ends[0] == "ci_lower":
        everybody += f" with {percent(result['confidence_level'])} confidence"
    if basis.given == "all seen":
        return f"“{event}” among all cases: {everybody}. Every outcome was seen."
    conditions = [_by_lot(basis, words)] if basis.given else []
    if stated is not None:
        conditions += ["what you state below holds"]
    condition = f"if {' and '.join(conditions)}" if conditions else "assuming nothing"
    among = f"“{event}” among the {accepted} cases: {percent(labeled)}. " if labeled is not None else ""
    return f"{among}Among all cases: {everybody}, {condition}."


def off_by(answers: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Say by how much the value among accepted cases is too low or too high, if it is significantly so."""
    if "missing" in answers or answers["event"]["labeled"] is None:
        return []
    result, labeled = answers["event"]["result"], answers["event"]["labeled"]
    low, high = result["ci_lower"], result["ci_upper"]
    if low is None or low <= labeled <= high:
        return []
    distance, too = (low - labeled, "low") if labeled < low else (labeled - high, "high")
    return [
        f"The {words['accepted']} cases alone give a figure that is too {too} for everybody, by at least "
        f"{100 * distance:.1f} points ({percent(result['confidence_level'])} confidence)."
    ]


def better_or_worse(comparison: Mapping[str, Any], basis: Basis, stated: Stated | None = None) -> str | None:
    """Which of the two rules is better and by how much, in a few words; None if they cannot be compared."""
    found = _compared(comparison, basis, stated)
    if found is None:
        return None
    money = found["metric"] == COST
    low, high = found["ci_lower"], found["ci_upper"]
    spoken = cost_range if money else points_range
    if found["verdict"] == "undecided":
        what = "costs less" if money else "is right more often"
        return (
            f"Whether “{found['a']}” or “{found['b']}” {what} is undecided: the first minus the second is "
            f"between {spoken(low, high)}."
        )
    worse = found["b" if found["verdict"] == "a" else "a"]
    gain = spoken(*sorted((abs(low), abs(high)))).replace("+", "")
    says = "costs less than" if money else "is right more often than"
    return f"“{found[found['verdict']]}” {says} “{worse}”, by between {gain}."


def against_today(
    acceptance: Mapping[str, Any],
    models: Any,
    data: Mapping[str, Any],
    basis: Basis,
    cases_per_year: float | None = None,
) -> str | None:
    """What the recommended cut-off of the user's score costs or saves compared with the decisions taken.

    None without costs, or without a score of the user.
    """
    if "missing" in acceptance or acceptance.get("assumption") != basis.assumption:
        return None
    model = acceptance["models"][0]
    found = model["cut_off"]
    if model["key"] != "yours" or found is None or found["against_human"]["ci_lower"] is None:
        return None
    name = next(each["name"] for each in models if each["key"] == model["key"])
    inspects = "missed" in acceptance["human"]
    cut = digits(found["threshold"])
    doing = f"Accepting every case with “{name}” {f'of {cut} or more' if inspects else f'below {cut}'}"
    doing = doing if found["does"] is None else f"To {found['does']}"
    ends = found["against_human"]["ci_lower"], found["against_human"]["ci_upper"]
    said = money_a_year(doing, ends, cases_per_year).removesuffix(".")
    if basis.given == "all seen":
        return f"{said}."
    return f"{said}, if {_by_lot(basis, data['words'])}." if basis.given else f"{said}, assuming nothing."


def _compared(comparison: Mapping[str, Any], basis: Basis, stated: Stated | None) -> Mapping[str, Any] | None:
    """The comparison of the two rules under all that was stated, else under the basis."""
    if "missing" in comparison or comparison["disagreement"] == 0.0:
        return None
    found = {each["assumption"]: each for each in comparison["results"]}.get(basis.assumption)
    if stated is not None and stated.comparison is not None:
        found = stated.comparison
    return None if found is None or found["ci_lower"] is None else found


def assumed(basis: Basis, words: Mapping[str, str], stated: Stated | None = None) -> list[str]:
    """The assumption behind the figures, and the part of it that cannot be tested."""
    besides = [] if stated is None else [f"You state: {each}" for each in stated.sentences]
    return [*_assumed(basis, words), *besides]


def _assumed(basis: Basis, words: Mapping[str, str]) -> list[str]:
    makers = words["makers"]
    if basis.given == "all seen":
        return ["Nothing: every outcome was seen."]
    if basis.given is None:
        return [
            f"Nothing. Who decided cannot be used here: {basis.reason}",
            "So the ranges are as wide as the outcomes that were not seen make them.",
        ]
    if basis.given == "features":
        return [
            f"Among comparable cases, {makers} get theirs as if by lot, and who decides does not change the "
            "outcome.",
            "Assignment is not random without the features. Whether these columns hold everything that "
            "settles who gets which case cannot be checked: you have to know it.",
        ]
    return [
        f"{capital(makers)} get their cases as if by lot, and who decides does not change the outcome.",
        "The checks do not refute this. They cannot prove it: you have to know how cases are assigned.",
    ]


def next_steps(
    sections: Mapping[str, Any], basis: Basis, words: Mapping[str, str], stated: Stated | None = None
) -> list[str]:
    """Recommendations about the rule, about the acceptance rate, and about narrowing the bounds."""
    if basis.given == "all seen":
        return []
    steps = [
        *_which_rule(_compared(sections["comparison"], basis, stated), sections["outlook"]),
        *(_searched(sections["team"]) or _accept_more(sections["acceptance"], sections["models"], words)),
        *_narrow(sections["answers"], sections["ladder"], basis, words, stated),
    ]
    return [full_sentence(each) for each in steps]


def _by_lot(basis: Basis, words: Mapping[str, str]) -> str:
    return BY_LOT[str(basis.given)].format(makers=words["makers"])


def _which_rule(found: Mapping[str, Any] | None, outlook: Mapping[str, Any]) -> list[str]:
    if found is None:
        return []
    money = found["metric"] == "cost"
    spoken = cost_range if money else points_range
    if found["verdict"] == "undecided":
        return [
            f"“{found['a']}” or “{found['b']}”? Undecided: the difference is between "
            f"{spoken(found['ci_lower'], found['ci_upper'])}.{_settled_by(outlook, money)}"
        ]
    better = found[found["verdict"]]
    low, high = sorted((abs(found["ci_lower"]), abs(found["ci_upper"])))
    gain = spoken(low, high).replace("+", "")
    return [f"Use “{better}”: it {'saves' if money else 'is right more often, by'} between {gain}."]


def _settled_by(outlook: Mapping[str, Any], money: bool) -> str:
    """The random acceptance that would narrow the interval most, if one can be planned."""
    if "missing" in outlook:
        return ""
    drawn = [each for each in outlook["ways"] if LOTTERY in each["way"]]
    if not drawn:
        return ""
    best = min(drawn, key=lambda each: each["interval"])
    now = outlook["ci_upper"] - outlook["ci_lower"]
    if best["interval"] >= now:
        return ""
    widths = [amount(each) if money else f"{100 * each:.1f} points" for each in (now, best["interval"])]
    return f" To find out: {best['way']}. That narrows the interval from {widths[0]} to {widths[1]}."


def _searched(team: Mapping[str, Any]) -> list[str]:
    """Explanation if decisions look like tests or searches; it replaces advice on the acceptance rate."""
    return [str(team["missing"])] if team.get("reversed") else []


def _accept_more(acceptance: Mapping[str, Any], models: Any, words: Mapping[str, str]) -> list[str]:
    """Advice on the acceptance rate, by the first available score: the user's if there is one."""
    if "missing" in acceptance:
        return []
    steps = []
    model = acceptance["models"][0]
    name = next((each["name"] for each in models if each["key"] == model["key"]), "the score")
    cut_off, step = model["cut_off"], model["step"]
    if cut_off is not None:
        low, high = cut_off["could_be_best"]
        least = cut_off["does"] or f"accept {percent(cut_off['accept'])}"
        steps.append(
            f"With these costs, accepting {percent_range(low, high)} of the cases by “{name}” can still be "
            f"best; to {least} loses least in the worst case."
        )
    elif step is not None and step["ci_lower"] is not None:
        many = f"{100 * step['ci_lower']:.1f} to {100 * step['ci_upper']:.1f}"
        does = "find" if "missed" in acceptance["human"] else "add"
        steps.append(
            f"Accepting {percent(step['more'])} more of all cases, by “{name}”, would {does} {many} cases of "
            f"“{words['event']}” per 100 cases."
        )
    return steps


def _narrow(
    answers: Mapping[str, Any],
    ladder: Mapping[str, Any],
    basis: Basis,
    words: Mapping[str, str],
    stated: Stated | None,
) -> list[str]:
    if "missing" in answers:
        return []
    if basis.given is None:
        return [
            f"Find out how cases reach {words['makers']}. If a rota or a lottery assigns them, perhaps "
            "within a branch or a shift, give that column as strata: the range above narrows."
        ]
    result = answers["event"]["result"]
    if result["ci_lower"] is None or result["ci_upper"] - result["ci_lower"] < WIDE:
        return []
    if stated is not None:
        return []
    if "missing" not in ladder:
        return ["The data contradict what you state (--assume), so it is not used above."]
    return [
        "The range narrows if you know more. For example: among comparable cases, those "
        f"{words['refused']} have “{words['event']}” more often (or less often) than those "
        f"{words['accepted']}; or how common it is among everybody. State it with --assume; “What you know” "
        "below shows what it would change."
    ]


def cautions(models: Any) -> list[str]:
    """Cautions of the results, once each, with the assumptions whose numbers they are about.

    Codes of checks stand in the appendix.

    Examples
    --------
    >>> doubt = {"assumption": "instrument", "cautions": ["It is doubtful (SL501)."]}
    >>> cautions([{"evaluations": [doubt, doubt, {"assumption": "none", "cautions": []}]}])
    ['Caution (numbers under instrument): It is doubtful.']
    """
    if not isinstance(models, list):
        return []
    found: dict[str, dict[str, None]] = {}
    for each in (result for model in models for result in model["evaluations"]):
        for sentence in each.get("cautions", ()):
            found.setdefault(re.sub(r" \(SL\d+\)", "", sentence), {})[each["assumption"]] = None
    return [f"Caution (numbers under {', '.join(about)}): {sentence}" for sentence, about in found.items()]


COST = "cost"
ALWAYS_UNSAID = (
    "Whether a rule is fair. Equal or unequal rates in subgroups do not settle that.",
    "Why cases end as they do, or what would change it. Nothing here is about causes.",
    "What will happen later. People, rules and cases change, also because a model is put to use.",
    "Anything about other kinds of cases, or about features that are not in this table.",
    "Whether the recorded outcome is right, or is the one that matters.",
    "That two rules are equal. “Undecided” means that the data leave both answers open.",
)
WITH_INSTRUMENT = (
    "What holds if cases do not reach decision-makers as assumed, or if who decides changes the outcome. "
    "Then only the numbers that assume nothing remain."
)
WITHOUT_INSTRUMENT = (
    "Anything narrower than the ranges that assume nothing: numbers under other assumptions are shown beside "
    "them, and hold only if those assumptions do."
)


def summarise(
    data: Mapping[str, Any],
    sections: Mapping[str, Any],
    basis: Basis,
    cases_per_year: float | None = None,
) -> dict[str, Any]:
    """Summarize a document for decision-makers.

    Parameters
    ----------
    data : section "data"
    sections : the other sections by name
    basis : Basis
        The weakest assumption that the checks allow.
    cases_per_year : float, optional
        Costs are those of so many cases.

    Returns
    -------
    dict with "headline", "assumed", "next", "sentences" and "does_not_say"
    """
    models = sections["models"]
    rule = models[0] if isinstance(models, list) else None
    money = _counts_costs(sections["comparison"])
    found = None if rule is None else _main(rule["evaluations"], basis, money)
    if found is not None and found["assumption"] != basis.assumption:
        basis = Basis(
            "none", None, "The numbers could not be computed with it; the notes on the data say why."
        )
    words, answers = data["words"], sections["answers"]
    stated = Stated.read(sections, basis)
    first = headline(answers, basis, words, stated)
    if first is None:
        first = _headline(models, rule, found, basis)
    elif (better := better_or_worse(sections["comparison"], basis, stated)) is not None:
        first = f"{first} {better}"
    if isinstance(models, list):
        first += "".join(f" “{each['name']}” {each['does']}." for each in models if each["does"] is not None)
    if (today := against_today(sections["acceptance"], models, data, basis, cases_per_year)) is not None:
        first = f"{today} {first}"
    verdict = (
        _verdict(basis, words["makers"])
        if rule is not None
        else f"Can this data answer it? No: {models['missing']}"
    )
    opening = [_question(data, rule, money), verdict]
    sentences = opening if basis.given is not None else opening[::-1]  # if the checks fail, that comes first
    if rule is not None and found is not None:
        sentences += off_by(answers, words)
        sentences += [_how_good(rule, found, basis), *_among_labeled(rule, found, basis)]
        sentences += _better(sections["comparison"], basis)
    if basis.assumption == "instrument":
        sentences += _decided(sections["decided"], basis)
    if basis.given in BY_LOT:  # the condition is said once
        condition = f", if {_by_lot(basis, words)}"
        head, *rest = first.split(condition)
        first = head + condition * bool(rest) + "".join(rest)
    return {
        "headline": first,
        "assumed": [*cautions(models), *assumed(basis, words, stated)],
        "next": next_steps(sections, basis, words, stated),
        "sentences": sentences,
        "does_not_say": [*_unsaid(basis), *ALWAYS_UNSAID],
    }


def _counts_costs(comparison: Mapping[str, Any]) -> bool:
    """Whether the two rules are compared by cost."""
    return "missing" not in comparison and comparison["results"][0]["metric"] == COST


def _main(results: list[dict[str, Any]], basis: Basis, money: bool) -> dict[str, Any] | None:
    """Accuracy (or cost) under the basis, or without assumptions if it was not computed under the basis."""
    name = COST if money and any(each["metric"] == COST for each in results) else "accuracy"
    by_assumption = {each["assumption"]: each for each in results if each["metric"] == name}
    return by_assumption.get(basis.assumption, by_assumption.get("none"))


def _headline(models: Any, rule: dict[str, Any] | None, found: dict[str, Any] | None, basis: Basis) -> str:
    if rule is None:
        return f"This data cannot say how good a rule is on everybody. {models['missing']}"
    if found is None:
        return (
            f"How often “{rule['name']}” is right was not asked; the metrics that were asked for are below."
        )
    if is_empty(found):
        return f"The numbers contradict themselves {UNDER[basis.given]}: do not rely on it here."
    if found["lower"] is None:
        return f"{_asked(rule, found)} cannot be said: {found['reason']}"
    if found["metric"] == COST:
        return f"{capital(IF[basis.given])}, “{rule['name']}” costs {_costs(*_ends(found))} a case."
    share = f"“{rule['name']}” is right in {percent_range(*_ends(found))} of all cases"
    if basis.given == "all seen":
        return f"{capital(IF[basis.given])}, {share}."
    cannot = "Who decided cannot be used here. " if basis.given is None else ""
    return f"{cannot}{capital(IF[basis.given])}, {share}, labeled or not."


def _question(data: Mapping[str, Any], rule: dict[str, Any] | None, money: bool) -> str:
    name = "a rule" if rule is None else f"“{rule['name']}”"
    question = f"what does {name} cost" if money else f"how often is {name} right"
    if data["n_labeled"] == data["n_cases"]:
        return f"The question: {question}? The outcome of all {data['n_cases']:,} cases was seen."
    n_makers = data["n_decision_makers"]
    words = data["words"]
    who = f"one {words['maker']}" if n_makers == 1 else f"{n_makers:,} {words['makers']}"
    return (
        f"The question: {question} on all {data['n_cases']:,} cases? The outcome was seen for "
        f"{data['n_labeled']:,} of them only ({percent(data['labeled_share'])}), those {words['accepted']}; "
        f"the decisions were taken by {who}."
    )


def _verdict(basis: Basis, makers: str) -> str:
    if basis.given is None:
        return (
            "Who decided cannot be used to learn about the outcomes that were not seen. The reason: "
            f"{basis.reason} So nothing is assumed about these outcomes, and the ranges are wide."
        )
    if basis.given == "all seen":
        return "Every outcome was seen, so nothing needs to be assumed about missing ones."
    can = "Can this data answer it? Within a range, if who decided was as good as a lottery."
    if basis.given == "features":
        meaning = MEANINGS["features"]
        return f"{can} Assignment is not random without the features. {meaning}"
    meaning = MEANINGS[str(basis.given)].format(makers=makers)
    return f"{can} {capital(basis.reason)} Checks can refute this assumption; they cannot prove it. {meaning}"


def _how_good(rule: dict[str, Any], found: dict[str, Any], basis: Basis) -> str:
    under = capital(UNDER[basis.given])
    if is_empty(found):
        return (
            f"{under}, no value is possible for “{rule['name']}” ({found['metric']}): the data contradict "
            "this assumption. Do not use numbers that rest on it."
        )
    reason = missing(found)
    if reason is not None:
        return f"{_asked(rule, found)} cannot be said: {reason}"
    if found["metric"] == COST:
        says, of, spoken = "costs", "a case", _costs
    else:
        says, of, spoken = "is right in", "of all cases", percent_range
    return (
        f"{under}, “{rule['name']}” {says} {spoken(*_ends(found))} {of}. With the sampling error of "
        f"{found['n']:,} cases: {spoken(found['ci_lower'], found['ci_upper'])} "
        f"({percent(found['confidence_level'])} confidence)."
        f"{'' if basis.given == 'all seen' else ' The data cannot tell where in this range.'}"
    )


def _asked(rule: dict[str, Any], found: dict[str, Any]) -> str:
    name = f"“{rule['name']}”"
    return f"What {name} costs" if found["metric"] == COST else f"How often {name} is right"


def _costs(low: float, high: float) -> str:
    first, second = amount(low), amount(high)
    return first if first == second else f"{first} to {second}"


def _among_labeled(rule: dict[str, Any], found: dict[str, Any], basis: Basis) -> list[str]:
    value = rule["labeled"].get(found["metric"])
    if value is None or basis.given == "all seen":
        return []
    says = f"costs {amount(value)} a case" if found["metric"] == COST else f"is right in {percent(value)}"
    return [
        f"Among the labeled cases alone it {says}. This number needs no assumption, but it is not about "
        "everybody: somebody chose the labeled cases."
    ]


def _better(comparison: dict[str, Any], basis: Basis) -> list[str]:
    """Say which of the two rules is better, if the data show it."""
    if "missing" in comparison:
        return []
    result = {each["assumption"]: each for each in comparison["results"]}[basis.assumption]
    if comparison["disagreement"] == 0.0:
        return [f"“{result['a']}” and “{result['b']}” predict the same for every case."]
    under = capital(UNDER[basis.given])
    differ = f"The two differ on {percent(comparison['disagreement'])} of the cases."
    lower, upper = result["ci_lower"], result["ci_upper"]
    money = result["metric"] == COST
    is_better = "costs less" if money else "is right more often"
    spoken = cost_range if money else points_range
    if is_empty(result):
        return [
            f"{under}, no difference between “{result['a']}” and “{result['b']}” is possible: the data "
            f"contradict this assumption. {differ}"
        ]
    reason = missing(result)
    if reason is not None:
        return [f"Which of “{result['a']}” and “{result['b']}” {is_better} cannot be said: {reason}"]
    if result["verdict"] == "undecided":
        return [
            f"{under}, the data do not tell whether “{result['a']}” or “{result['b']}” {is_better}: "
            f"the first minus the second is between {spoken(lower, upper)}, with sampling error. That "
            f"does not make them equal. {differ}"
        ]
    first, second = result["a"], result["b"]
    if result["verdict"] == "b":
        first, second = second, first
    if upper < 0.0:
        lower, upper = -upper, -lower
    return [
        f"{under}, “{first}” {is_better} than “{second}”, by between {spoken(lower, upper)}, "
        f"with sampling error. {differ}"
    ]


def _decided(decided: dict[str, Any], basis: Basis) -> list[str]:
    if "missing" in decided:
        return []
    return [
        f"{capital(UNDER[basis.given])}, the data settle which prediction is best for about "
        f"{percent(decided['share'])} of the cases. For the others, more than one can still be best."
    ]


def _unsaid(basis: Basis) -> list[str]:
    if basis.given == "all seen":
        return []
    return [WITH_INSTRUMENT if basis.assumption == "instrument" else WITHOUT_INSTRUMENT]


def _ends(found: dict[str, Any]) -> tuple[float, float]:
    return found["lower"], found["upper"]
