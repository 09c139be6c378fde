"""All topics, what each of them covers, and how a record is made, written and compared."""

import json
import math
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

import selective_labels as sl
from tests.golden import curves, judging, learning, pages, partitions
from tests.golden.plain import plain

STORED = Path(__file__).with_name("record.json")
RENEW = "python -m tests.golden tests/golden/record.json"
TOLERANCE = 1e-9
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
TOPICS = {
    "data": learning.data,
    "learners": learning.learners,
    "baselines": learning.baselines,
    "saving": learning.saving,
    "assumptions": judging.assumptions,
    "evaluation": judging.evaluation,
    "comparison": judging.comparison,
    "advice": judging.advice,
    "deciders": judging.deciders,
    "disparity": judging.disparity,
    "curves": curves.curves,
    "policies": curves.policies,
    "plan": curves.plan,
    "sensitivity": curves.sensitivity,
    "diagnose": curves.diagnose,
    "literature": curves.literature,
    "assess": pages.assess,
    "partitions": partitions.partitions,
    "commands": pages.commands,
}
# What is nothing but text.
OF_TEXTS = {"texts of commands": pages.texts_of_commands, "help": pages.overview, "demo": pages.demo}
# Where each public name is used.
COVERED = {
    "Advice": "advice",
    "BivariateProbitClassifier": "baselines",
    "Bounds": "learners",
    "Comparison": "comparison",
    "Deciders": "deciders",
    "Diagnosis": "diagnose",
    "DiagnosticWarning": "learners",
    "Disparity": "disparity",
    "DoublyRobustClassifier": "baselines",
    "Evaluation": "evaluation",
    "Evaluations": "evaluation",
    "Evaluator": "evaluation",
    "ExpertConsistencyClassifier": "baselines",
    "FuzzyAugmentationClassifier": "baselines",
    "HeckmanClassifier": "baselines",
    "IPWClassifier": "baselines",
    "InputError": "data",
    "LargeWorkWarning": "data",
    "LinearScore": "learners",
    "Metric": "evaluation",
    "NeuralScore": "learners",
    "ParcellingClassifier": "baselines",
    "Plan": "plan",
    "Policy": "policies",
    "PolicyCurve": "policies",
    "ReweightingClassifier": "baselines",
    "ConstantRuleWarning": "learners",
    "SelectedSampleClassifier": "baselines",
    "SelectiveLabels": "data",
    "TableDescription": "assess",
    "UCLClassifier": "learners",
    "Vocabulary": "data",
    "advice": "advice",
    "assess": "assess",
    "assumptions": "assumptions",
    "calibration_bins": "evaluation",
    "compare": "comparison",
    "conditional_rate": "evaluation",
    "contraction": "literature",
    "datasets": "data",
    "deciders": "deciders",
    "diagnose": "diagnose",
    "disparity": "disparity",
    "drift": "curves",
    "evaluate": "evaluation",
    "extrapolate": "literature",
    "ladder": "curves",
    "load_model": "saving",
    "lower_bound_scorer": "saving",
    "model_card": "saving",
    "plan": "plan",
    "plan_study": "plan",
    "policy_curve": "policies",
    "policy_value": "evaluation",
    "quintile_contraction": "literature",
    "save_model": "saving",
    "sensitivity_curve": "sensitivity",
    "threshold_curve": "curves",
}


def record(texts=False, only=None):
    """Run all topics, or one; with texts, everything that is said as well."""
    topics = TOPICS | OF_TEXTS if texts else TOPICS
    chosen = topics if only is None else {only: (TOPICS | OF_TEXTS)[only]}
    return {name: run(topic, texts) for name, topic in chosen.items()}


def run(topic, texts=False):
    """What one topic finds, and the warnings that users see meanwhile."""
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="warn"):
        warnings.simplefilter("always")
        found = plain(topic(), texts)
    ours = [each for each in heard if issubclass(each.category, UserWarning) and _is_ours(each, texts)]
    words = [f"{each.category.__name__}: {each.message} " for each in ours]
    return found | plain(
        {"warnings": sorted({each.category.__name__ for each in ours}), "said": words}, texts
    )


def _is_ours(heard, texts):
    """With texts all warnings count, else those that have a class of their own."""
    return texts or issubclass(
        heard.category, sl.DiagnosticWarning | sl.LargeWorkWarning | sl.ConstantRuleWarning
    )


def libraries():
    """Versions of what computes the numbers."""
    return {name: version(name) for name in LIBRARIES}


def write(found, path):
    """Write a record as JSON, sorted, a line for each entry of a topic."""
    topics = []
    for topic, entries in sorted(found.items()):
        lines = [f"  {json.dumps(name)}: {_line(entry)}" for name, entry in sorted(entries.items())]
        topics.append(f" {json.dumps(topic)}: {{\n" + ",\n".join(lines) + "\n }")
    Path(path).write_text("{\n" + ",\n".join(topics) + "\n}\n", encoding="utf-8")


def _line(entry):
    return json.dumps(entry, sort_keys=True, ensure_ascii=False, allow_nan=False)


def first_difference(here, stored, path="record"):
    """Where two records differ first, in words; None if they agree.

    >>> first_difference({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-12]}) is None
    True
    >>> first_difference({"a": [1, 2.0]}, {"a": [1, 2.5]})
    'record.a[1] is 2.0 and was 2.5'
    """
    if isinstance(here, dict) and isinstance(stored, dict):
        for key in sorted(here.keys() | stored.keys()):
            if key not in here or key not in stored:
                return f"{path}.{key} is {'new' if key in here else 'gone'}"
            if (found := first_difference(here[key], stored[key], f"{path}.{key}")) is not None:
                return found
        return None
    if isinstance(here, list) and isinstance(stored, list):
        if len(here) != len(stored):
            return f"{path} has {len(here)} members and had {len(stored)}"
        pairs = zip(here, stored, strict=True)
        found = (first_difference(*pair, f"{path}[{place}]") for place, pair in enumerate(pairs))
        return next((each for each in found if each is not None), None)
    return None if _same(here, stored) else f"{path} is {here!r} and was {stored!r}"


def _same(here, stored):
    if type(here) is float and type(stored) is float:
        return math.isclose(here, stored, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(here) is type(stored) and here == stored
