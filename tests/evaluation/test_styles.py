"""Tables and pictures for papers and slides."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import selective_labels as sl


@pytest.fixture(scope="module")
def curve():
    drawn = sl.datasets.make_decision_makers(400, n_classes=2, n_decision_makers=4, random_state=0)
    data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
    settings = {"nuisance": "logistic", "cv": 2, "random_state": 0}
    return sl.policy_curve(-drawn.X[:, 0], data, rates=[0.5], cost=[[0, 1], [3, 0]], **settings)


def test_a_table_of_cut_offs_can_be_pasted(curve):
    latex = curve.cut_offs.to_latex()
    assert r"\toprule" in latex
    assert latex.count(r"\\") == 1 + len(curve.cut_offs.to_frame())


@pytest.mark.parametrize("style", ["paper", "slides"])
def test_a_figure_grows_with_the_letters_of_its_style(style):
    found = sl.evaluate(np.array([0, 1] * 10), np.zeros((20, 1)), np.array([0, 1] * 10))
    with plt.style.context(f"selective_labels.{style}"):
        letters = plt.rcParams["font.size"]
        axes = found.plot()
    assert axes.figure.get_size_inches()[0] >= 0.64 * letters
    plt.close(axes.figure)
