"""The ladder: rungs in order, what each adds, and no number where the data contradict it."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import selective_labels as sl
from selective_labels import InputError, ladder
from selective_labels.assumptions import Informed, Instrument, Prevalence, Refused, SimilarBias
from selective_labels.evaluation.ladder import Ladder, build, ladder_steps

from .test_combined import INSTRUMENT, QUICK, CellMoments, population_ends, small

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:two ways to use", "ignore:.*delayed:UserWarning")
PAGE = Path(__file__).parents[2] / "docs" / "assumptions.md"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_with_known_probabilities_no_rung_widens(n_classes):
    """Cases in exact proportions and the chances themselves as models: what is left is rounding of counts."""
    cells = CellMoments(n_classes, n_classes)
    data = cells.data()
    kind = data.X["kind"].to_numpy().astype(int)
    event = np.tile(np.eye(n_classes)[-1], (len(data), 1))
    adverse = n_classes - 1
    low, high = population_ends(cells, data, event, INSTRUMENT & Informed(adverse))
    parts = [
        Informed(adverse),
        Refused(adverse, at_most=4.0),
        SimilarBias(0.2),
        Prevalence(adverse, low + 0.3 * (high - low)),
    ]
    prediction = np.where(kind > 0, adverse, 0)
    found = sl.ladder(prediction, data, assumptions=parts, nuisance=cells, random_state=0, n_jobs=1)
    frame = found.to_frame()
    assert (frame["lower"].diff()[1:] >= -1e-9).all()
    assert (frame["upper"].diff()[1:] <= 1e-9).all()
    assert (frame["saved"][1:] >= -1e-9).all()
    widths = frame["upper"] - frame["lower"]
    assert frame["saved"].sum() == pytest.approx(widths.iloc[0] - widths.iloc[-1])


def test_rungs_are_those_of_evaluate_in_the_order_given():
    sample, data, prediction = small()
    share = float(sample.y_true.mean())
    given = [Informed(1), "unconfounded", INSTRUMENT & Refused(1, at_most=3.0), Prevalence(1, share)]
    found = sl.ladder(prediction, data, assumptions=given, metric="tpr", cv=2, **QUICK)
    assert [each.assumption.name for each in found] == [
        "none",
        "instrument",
        "instrument & informed(1)",
        "unconfounded",
        "instrument & refused(1, ratio at most 3)",
        f"instrument & informed(1) & prevalence(1, {share:g})",
    ]
    assert [each.beyond for each in found] == [
        None, "none", "instrument", "none", "instrument", "instrument & informed(1)"
    ]  # fmt: skip
    # The last comes on top of the third, not of the one before it: it is called by its whole name.
    assert found[5].title == found[5].assumption.name
    assert found[2].title == "+ informed(1)"
    assert found[5].adds == f"prevalence(1, {share:g})"
    assert found[5].sentence == Prevalence(1, share).caption
    assumption_steps = [each.assumption for each in found]
    expected = sl.evaluate(prediction, data, metric="tpr", assumption=assumption_steps, cv=2, **QUICK)
    assert [each.evaluation for each in found] == list(expected)


def test_a_contradicted_rung_and_what_contains_it_have_no_number():
    sample, data, prediction = small(n=2000)
    share = float(sample.y_true.mean())
    given = [Informed(0), Prevalence(1, share), Refused(1, at_least=0.0)]  # the direction is the other one
    found = sl.ladder(prediction, data, assumptions=given, **QUICK)
    assert [each.contradicted for each in found] == [False, False, False, True, True]
    numbers = found.to_frame()[["lower", "upper", "ci_lower", "ci_upper", "width", "saved"]]
    assert numbers.iloc[3:].isna().all(axis=None)
    assert numbers.iloc[1:3].notna().all(axis=None)
    text = repr(found)
    assert re.search(r"^4  \+ prevalence\(.*\) +contradicted$", text, flags=re.MULTILINE)
    assert "No value: contradicted" in text
    assert "bounds are valid" not in text.split("\n4. ")[1], "of bounds that are not there"
    ax = found.plot()
    assert [each.get_text() for each in ax.texts] == ["contradicted"] * 2
    bottom, top = ax.get_ylim()
    assert top < 0 < len(found) - 1 < bottom, "every rung has its line, and the weakest is on top"


def test_what_contains_a_contradicted_assumption_is_contradicted_whatever_its_own_ends():
    sample, data, prediction = small(n=2000)
    weak, strong = INSTRUMENT & Informed(1), INSTRUMENT & Informed(1) & Refused(1, at_most=3.0)
    alone = sl.evaluate(prediction, data, assumption=[weak, strong], cv=2, **QUICK)
    wrong = INSTRUMENT & Informed(0) & Prevalence(1, float(sample.y_true.mean()))
    empty = sl.evaluate(prediction, data, assumption=wrong, **QUICK)
    assert not alone[1].empty
    found = build([weak, strong], [empty, alone[1]])
    assert found[1].contradicted
    assert np.isnan([found[1].evaluation.lower, found[1].evaluation.ci_upper]).all()
    assert "it contains 'instrument & informed(1)'" in found[1].evaluation.reason


def test_the_text_says_what_every_rung_assumes():
    _, data, prediction = small()
    found = sl.ladder(prediction, data, assumptions=Informed(1), cv=2, **QUICK)
    for words in (repr(found), found._repr_html_()):
        assert "accuracy" in words
        assert "+ informed(1)" in words
        assert "(beyond instrument)" in words
        assert all(each.sentence in unescape(words) for each in found)
        assert "800 cases" in words
    rows = json.loads(found.to_json())
    assert rows[0]["saved"] is None
    assert rows[2]["saved"] == found[2].saved
    ax = found.plot()
    assert [each.get_text() for each in ax.get_yticklabels()] == ["none", "instrument", "+ informed(1)"]


def test_without_decision_makers_parts_stand_on_nothing():
    _, data, prediction = small()
    found = sl.ladder(prediction, data.X, data.y, assumptions=[Informed(1, given="features")], cv=2, **QUICK)
    assert [each.title for each in found] == ["none", "informed(1, given features)"]
    with pytest.raises(InputError, match="needs the instrument"):
        ladder_steps([Informed(1)], has_instrument=False)


def test_what_makes_no_ladder_is_refused():
    _, data, prediction = small()
    with pytest.raises(InputError, match="one metric"):
        sl.ladder(prediction, data, metric=["accuracy", "tpr"], cv=2, **QUICK)
    with pytest.raises(InputError, match="two different assumptions are called 'instrument & informed"):
        ladder_steps(
            [Instrument() & Informed(1), Instrument() & Informed(1, direction_known=True)],
            has_instrument=True,
        )
    with pytest.raises(InputError, match="'faith' is not one of"):
        ladder_steps("faith", has_instrument=True)


def test_the_page_shows_the_numbers_of_its_example():
    """The code of the page's section runs as it stands, and its table is what it prints."""
    section = PAGE.read_text(encoding="utf-8").split("## The ladder")[1]
    (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)[:1]
    (table,) = re.findall(r"```text\n(.*?)```", section, flags=re.DOTALL)[:1]
    names = {}
    exec(compile(code, "assumptions.md", "exec"), names)
    printed = repr(names["found"])
    shown = [line.rstrip() for line in table.splitlines()]
    assert shown == printed.splitlines()[: len(shown)]
    # What the text around it says of the sample and of the last rung.
    said = names["found"][-1].evaluation.reason.removesuffix(".")
    assert said in " ".join(section.split())
    right = np.mean(names["rule"] == names["sample"].y_true)
    assert f"{right:.3f}"[1:] + " of the rule's predictions are right" in section


def test_what_the_page_calls_true_is_true_of_its_design():
    sample = sl.datasets.make_decision_makers(
        4000, n_classes=2, n_decision_makers=4, additive=False, mirrored=True, random_state=0
    )
    joint, eta = sample.oracle.joint(sample.X), sample.oracle.probabilities(sample.X)[:, 1, None]
    accepted = joint[:, :, 1:].sum(axis=2)
    good, bad = joint[:, :, 2] / accepted, (eta - joint[:, :, 2]) / (1.0 - accepted)
    ratio = bad / (1.0 - bad) * (1.0 - good) / good
    assert (bad >= good).all(), "informed"
    assert 3.0 <= ratio.min() <= ratio.max() <= 11.0, "odds of the refused"
    assert 0.48 <= eta.mean() <= 0.52, "prevalence"


def test_a_caution_of_several_steps_stands_once_and_hides_no_reason():
    sample = sl.datasets.make_decision_makers(800, n_classes=2, random_state=0)
    found = ladder(
        (sample.X[:, 0] > 0).astype(int),
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        assumptions=[Prevalence(1, 0.001)],
        nuisance=sample.oracle.joint,
        random_state=0,
    )
    steps = [
        replace(each, evaluation=each.evaluation.with_cautions(["this is doubtful."] if place else []))
        for place, each in enumerate(found)
    ]
    text = str(Ladder(tuple(steps)))
    assert steps[-1].contradicted
    assert text.count("this is doubtful.") == 1
    assert "Steps 2, 3: Caution: this is doubtful." in text
    assert "   No value: contradicted" in text
