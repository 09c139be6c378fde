"""Which metrics a report shows."""

from typing import Any

import numpy as np

from selective_labels.measures.metrics import AnyMetric, Metric, conditional_rate
from selective_labels.measures.named import expected_cost, named_metrics

OF_TWO_CLASSES = ("accuracy", "tpr", "fpr", "share", "ppv")
# With more classes than these, each of them would bury the page.
MOST_CLASSES = 6


def chosen_metrics(
    names: Any, classes: np.ndarray, event: int, cost: Any = None
) -> tuple[list[AnyMetric], list[str]]:
    """Metric objects, and notes about what is not among them.

    Default for two classes: accuracy, true and false positive rate, share and predictive value of the event;
    for more: accuracy, and for each class its share and how often it is recognised. With a cost matrix also
    the mean cost of a case.

    Examples
    --------
    >>> [each.name for each in chosen_metrics(None, np.array(["a", "b", "c"]), 2)[0]][:3]
    ['accuracy', "share of 'a'", "P(predicted 'a' | true 'a')"]
    """
    label = classes[event]
    money = [] if cost is None else [expected_cost(cost, classes)]
    if names is not None:
        wanted = [names] if isinstance(names, str | AnyMetric) else list(names)
        objects: list[AnyMetric] = []
        for each in wanted:
            objects += [each] if isinstance(each, AnyMetric) else named_metrics(each, classes, label, cost)
        asked = {each.name for each in objects}
        return [*objects, *(each for each in money if each.name not in asked)], []
    if len(classes) == 2:
        plain = [each for name in OF_TWO_CLASSES for each in named_metrics(name, classes, label)]
        return [*plain, *money], []
    shown, notes = classes.tolist(), []
    if len(shown) > MOST_CLASSES:
        shown = [classes.tolist()[event]]
        notes = [f"Of {len(classes)} classes, shares and rates are given for {shown[0]!r} only."]
    of_classes = [each for one in shown for each in (_share(one), conditional_rate(one, one))]
    return [*named_metrics("accuracy", classes), *of_classes, *money], notes


def _share(label: Any) -> Metric:
    return Metric(f"share of {label!r}", lambda truth, predicted: truth == label)
