"""Instrument strength as economists report it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import NotApplicableError
from selective_labels.diagnostics.strength import instrument_strength

PHILADELPHIA = (
    Path(__file__).parents[3] / "shared" / "data" / "philadelphia_bail_stevenson_2018" / "tidy.csv.gz"
)


def drawn(n=2000, spread=1.0, groups=None, strata=None, seed=0):
    sample = sl.datasets.make_decision_makers(n, n_classes=2, leniency_spread=spread, random_state=seed)
    return sl.SelectiveLabels.from_arrays(
        sample.X, sample.y, decision_maker=sample.decision_maker, groups=groups, strata=strata
    )


def test_f_without_controls_is_that_of_a_one_way_table():
    data = drawn()
    bare = sl.SelectiveLabels.from_arrays(
        np.zeros((len(data), 0)), data.y, decision_maker=data.decision_maker
    )
    found = instrument_strength(Context(bare))
    by = [data.decision[data.decision_maker_codes == code] for code in range(8)]
    between = sum(len(each) * (each.mean() - data.decision.mean()) ** 2 for each in by) / 7
    within = sum(((each - each.mean()) ** 2).sum() for each in by) / (len(data) - 8)
    assert_allclose(found.tests.f, between / within)
    # Leave-one-out leniency of one decision-maker: the mean of its other cases.
    own, code = data.decision, data.decision_maker_codes
    sums, counts = np.bincount(code, own)[code], np.bincount(code)[code]
    others = (sums - own) / (counts - 1)
    assert np.corrcoef(found.leniency, others)[0, 1] > 0.999


def test_one_slope_is_rejected_at_its_level_and_strength_is_seen():
    """Without differences between decision-makers, F has mean one, and Sargan rejects .05 or less."""
    found = [instrument_strength(Context(drawn(600, 0.0, seed=seed))) for seed in range(60)]
    fs = np.array([each.tests.f for each in found])
    assert abs(fs.mean() - 1.0) < 4 * fs.std() / np.sqrt(60)
    assert np.mean([each.tests.p_value < 0.05 for each in found]) <= 0.15


def test_groups_are_left_out_and_clustered():
    groups = np.repeat(np.arange(500), 4)
    found = instrument_strength(Context(drawn(groups=groups)))
    assert [each.name for each in found.leniencies] == [
        "leave-one-out leniency",
        "leave-group-out leniency",
        "UJIVE",
    ]
    strata = np.tile(np.arange(4), 500)
    named = instrument_strength(Context(drawn(strata=strata)))
    assert named.leniencies[1].name == "leave-stratum-out leniency"


def test_nothing_to_compare_is_said():
    data = drawn(400)
    one = sl.SelectiveLabels.from_arrays(data.X, data.y, decision_maker=np.zeros(400))
    with pytest.raises(NotApplicableError, match="only one decision-maker"):
        instrument_strength(Context(one))


def test_table_stands_in_the_text_in_html_and_in_a_plot():
    diagnosis = sl.diagnose(drawn(800), n_permutations=19, random_state=0)
    assert "leave-one-out leniency" in diagnosis.text()
    assert "UJIVE" in diagnosis.html()
    axes = diagnosis.plot("first stage")
    assert [each.get_text() for each in axes.get_legend().get_texts()] == [
        "decided yes",
        "decided yes and labeled 1",
    ]
    json.dumps(diagnosis.strength.content(), allow_nan=False)


@pytest.mark.skipif(not PHILADELPHIA.exists(), reason="file: the Philadelphia bail data are not here")
def test_philadelphia():
    """First-stage F 32.627 of the R package jive; covariates race, fixed effects of the bail date."""
    frame = pd.read_csv(PHILADELPHIA, usecols=["bailDate", "x_white", "x_black", "z", "d", "y_true"])
    data = sl.SelectiveLabels.from_frame(
        frame.assign(guilty=frame.y_true.where(frame.d == 1)),
        label="guilty",
        decision="d",
        decision_maker="z",
        strata="bailDate",
        features=["x_white", "x_black"],
    )
    found = instrument_strength(Context(data))
    assert (found.n_instruments, found.n_controls) == (7, 2352)
    assert_allclose(found.tests.f, 32.627, atol=5e-4)
    assert all(each.f > 10 for each in found.leniencies)
