"""Boosted trees under every arm at once: rows together at each split, arms only where a split asks for them.

A tree of six leaves asks for the arm once if at all, so that many arms get the same answer. To ask the trees
about one arm after the other would cost more than to fit them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

# Rows that go through a tree together: their columns stay in a processor's cache.
CHUNK_ROWS = 32_768
# Where a table of categories says what happens to a missing one; scikit-learn has room for 255.
MISSING = 256
NO_COLUMN = -1

# Leaves that some arms reach: which arms, and the place of the leaf (of each row, if it differs by row).
Part = tuple[np.ndarray, Any]


def raw_under_arms(
    classifier: HistGradientBoostingClassifier, design: np.ndarray, n_arms: int, place: int
) -> np.ndarray:
    """Sums of leaves of every row under every arm, (n_trees_per_iteration, n_arms, n_samples).

    Parameters
    ----------
    classifier : fitted HistGradientBoostingClassifier
    design : (n_samples, n_features) array
        The last column is for the arm, whatever it says.
    n_arms : int
    place : int
        How many categorical columns stand before the arm; scikit-learn puts these first.
    """
    each_arm = np.repeat(design[:1], n_arms, axis=0)
    each_arm[:, -1] = np.arange(n_arms)
    codes = _table_places(classifier._preprocess_X(each_arm, reset=False)[:, place])
    return _raw(classifier, design, codes, place)


def raw_sums(classifier: HistGradientBoostingClassifier, design: np.ndarray) -> np.ndarray:
    """Sums of leaves of every row as it is, (n_trees_per_iteration, n_samples)."""
    return _raw(classifier, design, np.zeros(1, dtype=np.intp), NO_COLUMN)[:, 0]


def _raw(
    classifier: HistGradientBoostingClassifier, design: np.ndarray, arms: np.ndarray, place: int
) -> np.ndarray:
    features = classifier._preprocess_X(design, reset=False)
    baseline = np.ravel(classifier._baseline_prediction)
    raw = np.empty((len(baseline), len(arms), len(design)))
    raw[:] = baseline[:, None, None]
    for start in range(0, len(design), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        chunk = _Chunk(np.asfortranarray(features[rows]), arms, place, {})
        for number, trees in enumerate(zip(*classifier._predictors, strict=True)):
            _add(raw[number, :, rows], [chunk.leaves(tree) for tree in trees], trees)
    return raw


def _add(raw: np.ndarray, found: list[list[Part]], trees: tuple[Any, ...]) -> None:
    """Add the values of the leaves: to all arms where these agree, else by one product of matrices."""
    common = np.zeros(raw.shape[1])
    membership, values = [], []
    for parts, tree in zip(found, trees, strict=True):
        for arms, leaf in parts:
            value = tree.nodes["value"][leaf]
            if len(parts) == 1:
                common += value
            else:
                membership.append(arms)
                values.append(np.broadcast_to(value, common.shape))
    raw += common
    if values:
        raw += np.array(membership, dtype=float).T @ np.array(values)


@dataclass(frozen=True)
class _Chunk:
    """Some rows, and all arms.

    Attributes
    ----------
    features : (n_samples, n_features) array
        As scikit-learn preprocesses them, column by column in memory.
    arms : (n_arms,) int array
        Places of the arms in tables of categories.
    place : int
        Column of the arm.
    categories : dict
        By column: places in tables of categories.
    """

    features: np.ndarray
    arms: np.ndarray
    place: int
    categories: dict[int, np.ndarray]

    def leaves(self, tree: Any, node: int = 0) -> list[Part]:
        """Leaves below a node: one part for arms that go the same ways."""
        split = tree.nodes[node]
        if split["is_leaf"]:
            return [(np.ones(len(self.arms), dtype=bool), np.uint8(node))]
        left, right = self.leaves(tree, split["left"]), self.leaves(tree, split["right"])
        if split["feature_idx"] == self.place:
            goes_left = _table(tree, split)[self.arms]
            sides = [(arms & goes_left, leaf) for arms, leaf in left]
            sides += [(arms & ~goes_left, leaf) for arms, leaf in right]
            return [(arms, leaf) for arms, leaf in sides if arms.any()]
        rows = self._goes_left(tree, split)
        if len(left) == len(right) == 1:
            return [(left[0][0], np.where(rows, left[0][1], right[0][1]))]
        pairs = [(one & other, a, b) for one, a in left for other, b in right]
        return [(arms, np.where(rows, a, b)) for arms, a, b in pairs if arms.any()]

    def _goes_left(self, tree: Any, split: Any) -> np.ndarray:
        column = int(split["feature_idx"])
        values = self.features[:, column]
        if split["is_categorical"]:
            if column not in self.categories:
                self.categories[column] = _table_places(values)
            return _table(tree, split)[self.categories[column]]
        if split["missing_go_to_left"]:
            return ~(values > split["num_threshold"])
        return values <= split["num_threshold"]


def _table(tree: Any, split: Any) -> np.ndarray:
    """Whether each category goes left, and last a missing one."""
    bits = tree.raw_left_cat_bitsets[split["bitset_idx"]]
    known = (bits[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    return np.append(known.ravel(), split["missing_go_to_left"]).astype(bool)


def _table_places(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), MISSING, values).astype(np.intp)
