"""What the first screen says in words: the answer, what it assumes, and what to do next."""

from collections.abc import Mapping
from typing import Any

from selective_labels.assessment.diagnosis import Basis
from selective_labels.assessment.wording import (
    capital,
    cost_range,
    full_sentence,
    is_empty,
    percent,
    percent_range,
    points_range,
)

# Half of ten points: a range wider than this to each side is worth narrowing.
WIDE = 0.1
LOTTERY = "accepted at random"
BY_LOT = {
    "strata": "{makers} get their cases as if by lot",
    "features": "{makers} get like cases as if by lot",
}


def headline(answers: Mapping[str, Any], basis: Basis, words: Mapping[str, str]) -> str | None:
    """The event among the accepted and among everybody; None if there is no such figure."""
    if "missing" in answers:
        return None
    event, accepted = words["event"], words["accepted"]
    result, labeled = answers["event"]["result"], answers["event"]["labeled"]
    if is_empty(result) or result["lower"] is None:
        return None
    # The range that is said first counts the chance of the sample too.
    ends = ("lower", "upper") if result["ci_lower"] is None else ("ci_lower", "ci_upper")
    everybody = percent_range(*(result[end] for end in ends))
    if ends[0] == "ci_lower":
        everybody += f" with {percent(result['confidence_level'])} confidence"
    if basis.given == "all seen":
        return f"“{event}” among everybody: {everybody}. Every outcome was seen."
    condition = f"if {_by_lot(basis, words)}" if basis.given else "assuming nothing"
    among = f"“{event}” among the {accepted} cases: {percent(labeled)}. " if labeled is not None else ""
    return f"{among}Among everybody: {everybody}, {condition}."


def off_by(answers: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Say by how much the accepted cases mislead, where they do beyond chance."""
    if "missing" in answers or answers["event"]["labeled"] is None:
        return []
    result, labeled = answers["event"]["result"], answers["event"]["labeled"]
    low, high = result["ci_lower"], result["ci_upper"]
    if low is None or low <= labeled <= high:
        return []
    distance, too = (low - labeled, "low") if labeled < low else (labeled - high, "high")
    return [
        f"The figure of the {words['accepted']} cases is too {too} for everybody, by {100 * distance:.1f} "
        f"points or more ({percent(result['confidence_level'])} confidence)."
    ]


def assumed(basis: Basis, words: Mapping[str, str]) -> list[str]:
    """What the figures rest on, and what nobody can prove."""
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
            f"Among like cases, {makers} get theirs as if by lot, and who decides does not change the "
            "outcome.",
            "Cases are not dealt out by lot as they stand; that everything which settles who gets which case "
            "is among the columns used here cannot be checked. It rests on what you know.",
        ]
    return [
        f"{capital(makers)} get their cases as if by lot, and who decides does not change the outcome.",
        "The checks do not contradict it, and cannot prove it: it rests on what you know of how cases are "
        "dealt out.",
    ]


def next_steps(sections: Mapping[str, Any], basis: Basis, words: Mapping[str, str]) -> list[str]:
    """What to do: about the rule, about the share of cases to accept, and to learn more."""
    if basis.given == "all seen":
        return []
    steps = [
        *_which_rule(sections["comparison"], sections["outlook"], basis),
        *(_searched(sections["team"]) or _accept_more(sections["acceptance"], sections["models"], words)),
        *_narrow(sections["answers"], sections["ladder"], basis, words),
    ]
    return [full_sentence(each) for each in steps]


def _by_lot(basis: Basis, words: Mapping[str, str]) -> str:
    return BY_LOT[str(basis.given)].format(makers=words["makers"])


def _which_rule(comparison: Mapping[str, Any], outlook: Mapping[str, Any], basis: Basis) -> list[str]:
    if "missing" in comparison:
        return []
    found = {each["assumption"]: each for each in comparison["results"]}.get(basis.assumption)
    if found is None or found["ci_lower"] is None or comparison["disagreement"] == 0.0:
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
    """The lottery that would tell most, if one can be planned."""
    if "missing" in outlook:
        return ""
    drawn = [each for each in outlook["ways"] if LOTTERY in each["way"]]
    if not drawn:
        return ""
    best = min(drawn, key=lambda each: each["interval"])
    now = outlook["ci_upper"] - outlook["ci_lower"]
    if best["interval"] >= now:
        return ""
    widths = [f"{each:.3g}" if money else f"{100 * each:.1f} points" for each in (now, best["interval"])]
    return f" To tell: {best['way']}; that interval would then be {widths[1]} wide (now {widths[0]})."


def _searched(team: Mapping[str, Any]) -> list[str]:
    """Say first of all that a yes may mean to look closer, where the decisions look so."""
    return [str(team["missing"])] if team.get("reversed") else []


def _accept_more(acceptance: Mapping[str, Any], models: Any, words: Mapping[str, str]) -> list[str]:
    """About the first score that there is: the user's, if it is one."""
    if "missing" in acceptance:
        return []
    steps = []
    model = acceptance["models"][0]
    name = next((each["name"] for each in models if each["key"] == model["key"]), "the score")
    cut_off, step = model["cut_off"], model["step"]
    if cut_off is not None:
        low, high = cut_off["could_be_best"]
        steps.append(
            f"With these costs, accepting {percent_range(low, high)} of the cases by “{name}” can still be "
            f"best; {percent(cut_off['accept'])} loses least if things turn out badly."
        )
    elif step is not None and step["ci_lower"] is not None:
        many = f"{100 * step['ci_lower']:.1f} to {100 * step['ci_upper']:.1f}"
        steps.append(
            f"Accepting {percent(step['more'])} more of all cases, by “{name}”, would add {many} cases of "
            f"“{words['event']}” per 100 cases."
        )
    return steps


def _narrow(
    answers: Mapping[str, Any], ladder: Mapping[str, Any], basis: Basis, words: Mapping[str, str]
) -> list[str]:
    if "missing" in answers:
        return []
    if basis.given is None:
        return [
            f"Find out how cases reach {words['makers']}. Where a rota or a lottery deals them out, perhaps "
            "within branch or shift (name it as strata), the range above narrows."
        ]
    result = answers["event"]["result"]
    if result["ci_lower"] is None or result["ci_upper"] - result["ci_lower"] < WIDE:
        return []
    if "missing" not in ladder:
        return ["What you know besides (--assume) is used under “What you know” below, and not above."]
    return [
        f"The range narrows if you know more: that among like cases those {words['refused']} have "
        f"“{words['event']}” more often than those {words['accepted']}, or less often; or about how many of "
        "everybody have it (--assume; “What you know” below shows what that buys)."
    ]
