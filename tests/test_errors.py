"""What users gave is refused by type, with the argument; nothing else is ever blamed on their data."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import selective_labels as sl
from selective_labels import DiagnosticWarning, InputError, SelectiveLabels
from selective_labels._errors import TableError, UndefinedError
from selective_labels._validation import require_choice
from selective_labels.data.coding import coded_features
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.metrics import named_metrics
from selective_labels.evaluation.predictions import read_predictions
from selective_labels.identification.bounds import as_label_range
from selective_labels.identification.costs import point_costs
from selective_labels.identification.functionals import normalized_weights
from selective_labels.inference.evidence import covariance
from selective_labels.nuisance.folds import make_folds
from selective_labels.nuisance.model_selection import candidates
from selective_labels.nuisance.models.encoders import weight_name
from selective_labels.report.render import render
from tests.reference.population_bounds import auc_extremes, predictive_value_extremes
from tests.report.samples import QUICK, table

ROOT = Path(sl.__file__).parent
# Only a mistake in our own code can lead there.
MISTAKES = {
    "diagnostics/context.py": 1,
    "identification/bounds.py": 2,
    "identification/functionals.py": 1,
    "identification/point.py": 2,
    "identification/rates.py": 1,
    "nuisance/cross_fit.py": 1,
}


def test_a_plain_value_error_is_raised_only_where_it_is_a_mistake_of_ours():
    names = [(path, path.relative_to(ROOT).as_posix()) for path in ROOT.rglob("*.py")]
    plain = {name: path.read_text().count("raise ValueError(") for path, name in names}
    assert {name: count for name, count in plain.items() if count} == MISTAKES


@pytest.mark.parametrize("kind", [InputError, UndefinedError, TableError])
def test_an_error_comes_back_from_another_process_as_it_was(kind):
    """Workers of joblib hand errors over as pickles."""
    error = pickle.loads(pickle.dumps(kind.about("y", "has no label at all.")))
    assert type(error) is kind
    assert (str(error), error.argument) == ("y has no label at all.", "y")
    assert error.said_of("The label 'failed'") == "The label 'failed' has no label at all."
    error = pickle.loads(pickle.dumps(kind("cv=1: too few.", "cv")))
    assert (str(error), error.argument, error.said_of("--folds")) == (
        "cv=1: too few.",
        "cv",
        "cv=1: too few.",
    )


def test_a_warning_comes_back_from_another_process_as_it_was():
    warning = pickle.loads(pickle.dumps(DiagnosticWarning("SL601", "(slope, violated): it bends.")))
    assert type(warning) is DiagnosticWarning
    assert (warning.code, warning.text) == ("SL601", "(slope, violated): it bends.")
    assert str(warning) == "SL601 (slope, violated): it bends."


def test_a_warning_that_was_caught_has_its_code():
    with pytest.warns(DiagnosticWarning, match="^SL101 hardly differ") as caught:
        warnings.warn(DiagnosticWarning("SL101", "hardly differ."), stacklevel=1)
    assert caught[0].message.code == "SL101"


def test_public_names_are_the_types_themselves():
    assert sl.InputError is InputError
    assert sl.DiagnosticWarning is DiagnosticWarning


CLASSES = np.array([0, 1])
DATA = SelectiveLabels.from_arrays(np.zeros((3, 1)), [0, 1, -1], decision_maker=[0, 1, 1])


@pytest.mark.parametrize(
    ("argument", "refuse"),
    [
        ("mode", lambda: require_choice("mode", "both", ("partial", "point"))),
        ("label_range", lambda: as_label_range((0.5,), np.zeros((2, 1)), 2)),
        ("label_range", lambda: as_label_range(("low", "high"), np.zeros((2, 1)), 2)),
        ("cost", lambda: point_costs(np.full((2, 2), 0.5), [[0.0, 1.0]])),
        ("cost", lambda: named_metrics("cost", CLASSES, cost=[[0, 1], [5]])),
        ("metric", lambda: named_metrics("nonsense", CLASSES)),
        ("pos_label", lambda: class_code("nobody", CLASSES)),
        ("sample_weight", lambda: normalized_weights([0.0, 0.0], 2)),
        ("classifier", lambda: read_predictions([0, 1], DATA)),
        ("a", lambda: read_predictions([0, 1], DATA, "a")),
        ("a", lambda: read_predictions([["x", "y"]] * 3, DATA, "a").probabilities),
        ("cv", lambda: make_folds(np.array([0, 1, 0, 1]), 1)),
        ("groups", lambda: make_folds(np.array([0, 1, 0, 1]), 3, groups=np.array([0, 0, 1, 1]))),
        ("nuisance", lambda: candidates("nonsense", 3, 0)),
        ("estimator", lambda: weight_name(object())),
        ("n_samples", lambda: sl.datasets.make_decision_makers(0)),
        ("y", lambda: sl.datasets.make_selective(np.zeros((3, 1)), [0, 0, 0])),
        ("X", lambda: coded_features(np.array([[np.inf]]))),
        ("path", lambda: sl.load_model("nowhere.skops")),
        ("document", lambda: render({})),
    ],
)
def test_an_error_knows_what_it_is_about(argument, refuse):
    with pytest.raises(InputError) as caught:
        refuse()
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: predictive_value_extremes([0.0, 0.0], lower=[0.1, 0.2], upper=[0.5, 0.6]),
        lambda: auc_extremes([0.1, 0.9], lower=[0.0, 0.0], upper=[0.0, 0.0]),
        lambda: covariance([[0.5, -0.5]], clusters=["a", "a"]),
    ],
)
def test_a_number_that_does_not_exist_is_said_to_be_undefined(undefined):
    with pytest.raises(UndefinedError):
        undefined()


class Broken(LogisticRegression):
    """A classifier with a mistake in its program."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("broken on purpose")


def broken_metric():
    return sl.Metric("broken", lambda truth, predicted: np.zeros(3) + np.zeros(2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nuisance": Broken()}, "broken on purpose"),
        ({"metric": [broken_metric()]}, "could not be broadcast together"),
    ],
)
def test_a_mistake_of_a_program_is_no_missing_section(settings, message):
    X, y, makers = table(200)
    with pytest.raises(ValueError, match=message) as caught:
        sl.assess(X, y, decision_maker=makers, **QUICK | settings)
    assert not isinstance(caught.value, InputError)
