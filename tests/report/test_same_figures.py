"""The page, the functions and the ladder give one figure for one question, to the last digit."""

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.evaluation.display import ENDS
from selective_labels.evaluation.policy import MEASURES_OF
from study.coverage.domains import DOMAINS, draw, table_of

N_ROWS = 500
HOW = {"nuisance": "logistic", "cv": 2, "random_state": 3, "n_jobs": 1}


def ends(result):
    """Bounds and interval of a result, of the package or in a document."""
    return [result[each] if isinstance(result, dict) else getattr(result, each) for each in ENDS]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", DOMAINS)
def test_one_question_has_one_figure(name):
    domain = DOMAINS[name]
    drawn = draw(domain, N_ROWS, [77, list(DOMAINS).index(name)])
    data, score = table_of(domain, drawn), drawn.frame["vendor_score"].to_numpy()
    names, cost = MEASURES_OF[domain.means], domain.cost
    measures = [names.main, names.rate, "cost"]
    informed = sl.assumptions.Instrument() & sl.assumptions.Informed("yes")
    page = sl.assess(data, predictions=score, cost=cost, assumptions=[informed], **HOW)
    assert page["summary"]["headline"].count("as if by lot") <= 1
    assumption = page["acceptance"]["assumption"]
    how = HOW | {"cost": cost, "assumption": assumption}

    policy = sl.Policy(score)
    found = dict(zip(measures, sl.evaluate(policy, data, metric=measures, **how), strict=True))
    now = page["acceptance"]["present"]
    point = next(each for each in page["acceptance"]["models"][0]["points"] if each["rate"] == now)
    curve = sl.policy_curve(score, data, rates=[0.25, now], **how)
    place = np.flatnonzero(curve.rates == now)[0]
    quarter = next(each for each in page["acceptance"]["models"][0]["points"] if each["rate"] == 0.25)
    alone = next(each for each in page["team"]["ways"] if each["way"] == "score")
    people = next(each for each in page["team"]["ways"] if each["way"] == "human")
    against = sl.compare(policy, "human", data, metric="cost", **how)
    for measure in measures:
        assert ends(point[measure]) == ends(found[measure]) == ends(curve.evaluations[measure][place])
        assert ends(quarter[measure]) == ends(curve.evaluations[measure][0])
        assert ends(page["acceptance"]["human"][measure]) == ends(curve.human[measure])
        if measure in alone["values"]:
            assert ends(alone["values"][measure]) == ends(found[measure])
            assert ends(people["values"][measure]) == ends(curve.human[measure])
    assert ends(alone["difference"]) == ends(against)
    assert ends(sl.evaluate("human", data, metric="cost", **how)) == ends(people["values"]["cost"])
    assert ends(page["answers"]["event"]["result"]) == ends(
        sl.evaluate(np.full(N_ROWS, "yes"), data, metric="share", **how)
    )

    yes = sl.evaluation.policy.acting_as_now(score, data, 1)[0]
    steps = sl.ladder(yes, data, assumptions=[informed], metric="cost", cost=cost, **HOW)
    cut = sl.evaluate(yes, data, metric="cost", **how)
    rungs = {each.evaluation.assumption: each.evaluation for each in steps}
    assert ends(rungs[assumption]) == ends(cut)
    # The cut-off of a policy is estimated, and has an error; that of predictions is not.
    assert ends(cut)[:2] == ends(found["cost"])[:2]
    for each in page["ladder"]["ladders"]:
        steps = sl.ladder(yes, data, assumptions=[informed], metric=each["metric"], cost=cost, **HOW)
        assert [ends(rung) for rung in each["rungs"]] == [ends(step.evaluation) for step in steps]
