"""What a model file may hold: types that fitted models are made of, and trees that stay within bounds."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from selective_labels.support.errors import InputError

# Our own: anything defined (not merely imported) in these modules; none of them opens files or runs programs.
OWN_MODULES = (
    "selective_labels.assumptions.",
    "selective_labels.estimators.baselines.",
    "selective_labels.features.coding.",
    "selective_labels.identification.",
    "selective_labels.estimators.learners.",
    "selective_labels.tilting.",
    "selective_labels.models.",
    "selective_labels.nuisance.",
)
# Of others, what skops does not trust by itself and our fitted models need.
OTHER_TYPES = {
    "functools.partial",  # a FunctionTransformer that HistGradientBoostingClassifier fits
    "numpy.dtype",  # of fitted encoders
    "sklearn.compose._column_transformer._RemainderColsList",  # of fitted column transformers
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # boosting; see refuse_wild_trees
    "sklearn.utils.validation.check_array",  # the function that this FunctionTransformer applies
}
SPLITS = ("left", "right")


def untrusted(names: list[str], trusted: Sequence[str] = ()) -> list[str]:
    """Types that no model file of this package needs.

    Parameters
    ----------
    names : list of str
        As given by ``skops.io.get_untrusted_types``.
    trusted : sequence of str
        Types that the user vouches for.

    Examples
    --------
    >>> untrusted(["numpy.dtype", "posix.system", "selective_labels.estimators.learners.ucl.UCLClassifier"])
    ['posix.system']

    What a module of ours imports is not ours:

    >>> untrusted(["selective_labels.estimators.learners.ucl.BaseEstimator"])
    ['selective_labels.estimators.learners.ucl.BaseEstimator']
    """
    if isinstance(trusted, str):
        raise InputError(f"trusted={trusted!r} must be a list of names.", "trusted")
    known = OTHER_TYPES | set(trusted)
    return [name for name in names if name not in known and not _is_own(name)]


def _is_own(name: str) -> bool:
    if not name.startswith(OWN_MODULES):
        return False
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    return getattr(found, "__module__", None) == module


def refuse_wild_trees(model: Any) -> None:
    """Raise if a boosted tree points outside itself: scikit-learn would follow it without looking.

    Parameters
    ----------
    model : object
        Loaded, not yet used; everything reachable from it is searched.
    """
    for estimator in _reachable(model, HistGradientBoostingClassifier):
        if not hasattr(estimator, "_predictors"):  # a parameter, never fitted
            continue
        categories = [] if estimator._bin_mapper is None else _known_categories(estimator._bin_mapper)
        if any((codes < 0).any() or (codes > 255).any() for codes in categories):
            raise InputError("a boosted tree has categories out of range", "path")
        for tree in (tree for stage in estimator._predictors for tree in stage):
            _refuse_wild_tree(tree, estimator.n_features_in_)


def _known_categories(mapper: Any) -> list[np.ndarray]:
    pairs = zip(mapper.bin_thresholds_, mapper.is_categorical_, strict=True)
    return [np.nan_to_num(np.asarray(values)) for values, categorical in pairs if categorical]


def _refuse_wild_tree(tree: Any, n_features: int) -> None:
    nodes = tree.nodes
    places = np.arange(len(nodes))
    inner = nodes["is_leaf"] == 0
    for side in SPLITS:
        # A child always comes after its parent, so a walk from the root ends.
        if not ((nodes[side] > places) & (nodes[side] < len(nodes)))[inner].all():
            raise InputError("a boosted tree points outside itself", "path")
    if not ((nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < n_features))[inner].all():
        raise InputError("a boosted tree splits on a feature that does not exist", "path")
    by_category = inner & (nodes["is_categorical"] == 1)
    if not (nodes["bitset_idx"] < len(tree.raw_left_cat_bitsets))[by_category].all():
        raise InputError("a boosted tree splits on categories that do not exist", "path")


def _reachable(root: Any, wanted: type) -> list[Any]:
    """Objects of a type that hang on another, each once."""
    found, seen, waiting = [], {id(root)}, [root]
    while waiting:
        each = waiting.pop()
        if isinstance(each, wanted):
            found.append(each)
        parts = (
            list(each.values()) if isinstance(each, dict) else list(getattr(each, "__dict__", {}).values())
        )
        if isinstance(each, list | tuple | set) or (isinstance(each, np.ndarray) and each.dtype == object):
            parts += list(each)
        new = [part for part in parts if id(part) not in seen and not isinstance(part, str | int | float)]
        seen |= {id(part) for part in new}
        waiting += new
    return found
