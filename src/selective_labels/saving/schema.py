"""What a model file says about its model: features and their kinds, classes, roles, training rows."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.features.coding import TableCoding
from selective_labels.features.kinds import CATEGORY, DATE, NUMBER
from selective_labels.support.errors import InputError
from selective_labels.support.words import several
from selective_labels.tables.conversion import as_kind
from selective_labels.tables.errors import TableError

PACKAGES = ("selective-labels", "scikit-learn", "numpy", "skops")
KINDS = (NUMBER, DATE, CATEGORY)
# So many hashes of training rows tell which share of them is in another table.
KEPT_ROWS = 1000


@dataclass(frozen=True)
class FeatureSchema:
    """A feature as the model knows it.

    Attributes
    ----------
    name : str
    kind : "number", "date" or "category"
    categories : tuple of str
        Values seen in training; empty for other kinds.
    """

    name: str
    kind: str = NUMBER
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelSchema:
    """What a model was trained on, and how.

    Attributes
    ----------
    features : tuple of FeatureSchema
    classes : tuple
        Sorted labels.
    roles : dict
        Column by role.
    options : dict
        How the model was fitted.
    n_rows : int
        Training rows.
    rows : tuple of int
        Hashes of up to 1,000 of them.
    versions : dict of str
        Of Python and of packages.
    """

    features: tuple[FeatureSchema, ...]
    classes: tuple[Any, ...]
    roles: dict[str, str | None] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    rows: tuple[int, ...] = ()
    versions: dict[str, str] = field(default_factory=lambda: current_versions())

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [feature.name for feature in self.features]

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of every feature."""
        return {feature.name: feature.kind for feature in self.features}

    def to_json(self) -> str:
        """The schema as JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "ModelSchema":
        """The schema of JSON text; an InputError if a part of it is not what it should be."""
        values = json.loads(text)
        features = tuple(
            FeatureSchema(each["name"], each["kind"], tuple(each["categories"]))
            for each in values["features"]
        )
        tuples = {name: tuple(values[name]) for name in ("classes", "rows")}
        schema = cls(**(values | tuples | {"features": features}))
        named = all(isinstance(each.name, str) and each.kind in KINDS for each in features)
        dicts = (schema.roles, schema.options, schema.versions)
        words = all(isinstance(each, str) for feature in features for each in feature.categories)
        if not (named and words and all(isinstance(each, dict) for each in dicts)):
            raise InputError("a part of the schema is of another type.", "path")
        if not all(type(each) is int and 0 <= each < 2**64 for each in schema.rows):
            raise InputError("the schema has hashes that are none.", "path")
        return schema

    def example(self) -> pd.DataFrame:
        """One row as a table may have it.

        Examples
        --------
        >>> ModelSchema((FeatureSchema("age"), FeatureSchema("job", "category", ("cook",))), (0, 1)).example()
           age   job
        0  0.0  cook
        """
        cells = {
            NUMBER: lambda _: 0.0,
            DATE: lambda _: pd.Timestamp("2000-01-01"),
            CATEGORY: lambda each: each.categories[0] if each.categories else None,
        }
        return pd.DataFrame({each.name: [cells[each.kind](each)] for each in self.features})

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The model's features out of a table, in order, each of its kind.

        Examples
        --------
        >>> schema = ModelSchema((FeatureSchema("age"),), (0, 1))
        >>> schema.read(pd.DataFrame({"name": ["Ann"], "age": [31]})).to_dict("list")
        {'age': [31.0]}
        >>> schema.read(pd.DataFrame({"name": ["Ann"]}))
        Traceback (most recent call last):
        ...
        selective_labels.tables.errors.TableError: The model needs the column 'age', which the table lacks.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            columns = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The model needs the {columns} {several(missing)}, which the table lacks.")
        return pd.DataFrame({each.name: as_kind(frame[each.name], each.kind) for each in self.features})

    def unseen_categories(self, X: pd.DataFrame) -> dict[str, int]:
        """Number of rows with a category that training had not, by feature; features without are left out."""
        counts = {
            each.name: int((X[each.name].notna() & ~X[each.name].isin(each.categories)).sum())
            for each in self.features
            if each.kind == CATEGORY
        }
        return {name: count for name, count in counts.items() if count}

    def share_of_training_rows(self, X: pd.DataFrame, others: Sequence[pd.Series]) -> float:
        """Share of the training rows that are in a table, by what was kept of them."""
        if not self.rows:
            return 0.0
        return float(np.isin(np.array(self.rows, dtype=np.uint64), row_hashes(X, others)).mean())


def describe(
    X: pd.DataFrame,
    kinds: dict[str, str],
    classes: Sequence[Any] | np.ndarray,
    others: Sequence[pd.Series] = (),
    roles: dict[str, str | None] | None = None,
    options: dict[str, Any] | None = None,
) -> ModelSchema:
    """Schema of a model fitted on a table.

    Parameters
    ----------
    X : pandas.DataFrame
        Features.
    kinds : dict of str
        By feature.
    classes : sequence
    others : sequence of pandas.Series
        Further columns that make a row recognisable, such as label and decision-maker.
    roles, options : dict, optional

    Examples
    --------
    >>> describe(pd.DataFrame({"job": ["cook", None]}), {"job": "category"}, [0, 1]).features
    (FeatureSchema(name='job', kind='category', categories=('cook',)),)
    """
    features = tuple(
        FeatureSchema(name, kind, tuple(sorted(X[name].dropna().unique())) if kind == CATEGORY else ())
        for name, kind in kinds.items()
    )
    hashes = row_hashes(X, others)
    kept = np.random.default_rng(0).permutation(hashes)[:KEPT_ROWS]
    return ModelSchema(
        features,
        tuple(np.asarray(classes).tolist()),
        roles or {},
        options or {},
        len(X),
        tuple(kept.tolist()),
    )


def row_hashes(X: pd.DataFrame, others: Sequence[pd.Series]) -> np.ndarray:
    """One 64-bit hash for each row."""
    columns = {f"feature {name}": X[name] for name in X.columns}
    texts = {f"other {place}": column.astype(str).astype(object) for place, column in enumerate(others)}
    table = pd.DataFrame({name: column.to_numpy() for name, column in (columns | texts).items()})
    return pd.util.hash_pandas_object(table, index=False).to_numpy()


def current_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a model file depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def schema_of_model(model: Any) -> ModelSchema:
    """Schema of a fitted model about whose table nothing else is known."""
    names = getattr(model, "feature_names_in_", [f"x{place}" for place in range(model.n_features_in_)])
    coding: TableCoding | None = getattr(model, "_coding", None)
    kinds = [NUMBER] * len(names) if coding is None else coding.kinds
    words = {} if coding is None else coding.vocabularies
    features = tuple(
        FeatureSchema(str(name), kind, tuple(words.get(place, ())))
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    return ModelSchema(features, tuple(model.classes_.tolist()))


def version_warning(schema: ModelSchema) -> str | None:
    """A sentence if scikit-learn is not of the version that the model was saved with."""
    saved, here = str(schema.versions.get("scikit-learn", "")), version("scikit-learn")
    if saved.split(".")[:2] == here.split(".")[:2]:
        return None
    return f"The model was saved with scikit-learn {saved} and this is {here}; if in doubt, fit it again."
