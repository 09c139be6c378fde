"""Model files: fitted models saved as data without code, with the schema of their features."""

import json
import platform
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.metaestimators import available_if

from selective_labels._errors import InputError, TableError, several
from selective_labels._parallel import MIB, largest_expansion
from selective_labels._validation import read_file
from selective_labels.data.coding import TableCoding
from selective_labels.data.features import CATEGORY, DATE, NUMBER
from selective_labels.io.files import require_writable, write_whole
from selective_labels.io.prepare import as_kind

PACKAGES = ("selective-labels", "scikit-learn", "numpy", "skops")
KINDS = (NUMBER, DATE, CATEGORY)
# Number of hashed training rows, enough to estimate the share of them in another table.
KEPT_ROWS = 1000


@dataclass(frozen=True)
class FeatureSchema:
    """A feature of a model.

    Attributes
    ----------
    kind : "number", "date" or "category"
    categories : tuple of str
        Values seen in training. Empty for other kinds.
    """

    name: str
    kind: str = NUMBER
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelSchema:
    """Description of a model's training data and settings.

    Attributes
    ----------
    classes : tuple
        Sorted labels.
    roles : dict
        Columns by role.
    options : dict
        Settings of the fit.
    n_rows : int
        Number of training rows.
    rows : tuple of int
        Hashes of up to 1,000 training rows.
    versions : dict of str
        Versions of Python and of packages.
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
        """Serialize the schema as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "ModelSchema":
        """Parse the schema from JSON. Raise :class:`InputError` if a part has the wrong type."""
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
        """One row that a table for this model could contain.

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
        """Select the model's features from a table, in order, and convert each to its kind.

        Examples
        --------
        >>> schema = ModelSchema((FeatureSchema("age"),), (0, 1))
        >>> schema.read(pd.DataFrame({"name": ["Ann"], "age": [31]})).to_dict("list")
        {'age': [31.0]}
        >>> schema.read(pd.DataFrame({"name": ["Ann"]}))
        Traceback (most recent call last):
        ...
        selective_labels._errors.TableError: The model needs the column 'age', which the table lacks.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            columns = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The model needs the {columns} {several(missing)}, which the table lacks.")
        return pd.DataFrame({each.name: as_kind(frame[each.name], each.kind) for each in self.features})

    def unseen_categories(self, X: pd.DataFrame) -> dict[str, int]:
        """Number of rows with a category not seen in training, by feature, where it is not zero."""
        counts = {
            each.name: int((X[each.name].notna() & ~X[each.name].isin(each.categories)).sum())
            for each in self.features
            if each.kind == CATEGORY
        }
        return {name: count for name, count in counts.items() if count}

    def share_of_training_rows(self, X: pd.DataFrame, others: Sequence[pd.Series]) -> float:
        """Share of the stored training rows that occur in a table."""
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
        Kinds by feature.
    classes : sequence
    others : sequence of pandas.Series
        Further columns that identify a row, such as label and decision-maker.

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
    """64-bit hash of each row."""
    columns = {f"feature {name}": X[name] for name in X.columns}
    texts = {f"other {place}": column.astype(str).astype(object) for place, column in enumerate(others)}
    table = pd.DataFrame({name: column.to_numpy() for name, column in (columns | texts).items()})
    return pd.util.hash_pandas_object(table, index=False).to_numpy()


def current_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a model file depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def schema_of_model(model: Any) -> ModelSchema:
    """Schema of a fitted model without further information about its table."""
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
    """Warning text if the version of scikit-learn differs from that of the saved model, else None."""
    saved, here = str(schema.versions.get("scikit-learn", "")), version("scikit-learn")
    if saved.split(".")[:2] == here.split(".")[:2]:
        return None
    return f"The model was saved with scikit-learn {saved} and this is {here}; if in doubt, fit it again."


# Objects defined (not just imported) in these modules are trusted: none of them opens files or runs programs.
OWN_MODULES = (
    "selective_labels.assumptions.",
    "selective_labels.data.coding.",
    "selective_labels.estimators.",
    "selective_labels.identification.",
    "selective_labels.nuisance.",
)
# Types of other packages that our fitted models need and that skops does not trust by default.
OTHER_TYPES = {
    "functools.partial",  # in a FunctionTransformer that HistGradientBoostingClassifier fits
    "numpy.dtype",  # in fitted encoders
    "sklearn.compose._column_transformer._RemainderColsList",  # in fitted column transformers
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # boosting; see refuse_wild_trees
    "sklearn.utils.validation.check_array",  # function applied by this FunctionTransformer
}
SPLITS = ("left", "right")


def untrusted(names: list[str], trusted: Sequence[str] = ()) -> list[str]:
    """Types that no model file of this package needs.

    Parameters
    ----------
    names : list of str
        Output of ``skops.io.get_untrusted_types``.
    trusted : sequence of str
        Types that the user trusts.

    Examples
    --------
    >>> untrusted(["numpy.dtype", "posix.system", "selective_labels.estimators.ucl.UCLClassifier"])
    ['posix.system']

    Objects that a module of this package merely imports are not trusted:

    >>> untrusted(["selective_labels.estimators.ucl.BaseEstimator"])
    ['selective_labels.estimators.ucl.BaseEstimator']
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
    """Raise :class:`InputError` if a boosted tree has indices out of range: scikit-learn does not check.

    Parameters
    ----------
    model : object
        Loaded model before its first use. All objects reachable from it are searched.
    """
    for estimator in _reachable(model, HistGradientBoostingClassifier):
        if not hasattr(estimator, "_predictors"):  # an unfitted parameter
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
        # Children come after their parent, so every walk from the root terminates.
        if not ((nodes[side] > places) & (nodes[side] < len(nodes)))[inner].all():
            raise InputError("a boosted tree points outside itself", "path")
    if not ((nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < n_features))[inner].all():
        raise InputError("a boosted tree splits on a feature that does not exist", "path")
    by_category = inner & (nodes["is_categorical"] == 1)
    if not (nodes["bitset_idx"] < len(tree.raw_left_cat_bitsets))[by_category].all():
        raise InputError("a boosted tree splits on categories that do not exist", "path")


def _reachable(root: Any, wanted: type) -> list[Any]:
    """Distinct objects of a type that are reachable from another object."""
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


FORMAT = "selective-labels model"
FORMAT_VERSION = 1


def _model_has(method: str) -> Any:
    return lambda saved: hasattr(saved.model, method)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted model with its schema. Its methods take whole tables and select the model's features."""

    model: Any
    schema: ModelSchema

    @property
    def classes_(self) -> np.ndarray:
        """Sorted labels."""
        return self.model.classes_

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Predict the class of every row."""
        return self.model.predict(self.schema.read(frame))

    @available_if(_model_has("decision_function"))
    def decision_function(self, frame: pd.DataFrame) -> np.ndarray:
        """Scores of the model."""
        return self.model.decision_function(self.schema.read(frame))

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """Class probabilities of the model."""
        return self.model.predict_proba(self.schema.read(frame))


def save_model(
    model: Any, path: str | Path, *, schema: ModelSchema | None = None, trusted: Sequence[str] = ()
) -> None:
    """Save a fitted model with skops: data only, no pickle. The file is written completely or not at all.

    Parameters
    ----------
    model : fitted estimator
        Parts that cannot be loaded safely raise an error: functions as parameters, types of other packages.
    path : str or Path
    schema : ModelSchema, optional
        Default: the names of the features, all of them numbers.
    trusted : sequence of str
        Full names of your own types in the model, such as an assumption ("my_module.HalfAsBad"). They
        must be named again to load it.

    Examples
    --------
    >>> import tempfile, selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(300, random_state=0)
    >>> model = sl.UCLClassifier(estimator="plug-in", nuisance="logistic", cv=2, random_state=0)
    >>> model = model.fit(pd.DataFrame(sample.X, columns=list("abcd")), sample.y,
    ...                   decision_maker=sample.decision_maker)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder, "model.skops"))
    ...     loaded = load_model(Path(folder, "model.skops"))
    >>> loaded.schema.names
    ['a', 'b', 'c', 'd']
    """
    io = skops_io()

    require_writable(path)
    refuse_functions(model)
    schema = schema_of_model(model) if schema is None else schema
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, "schema": schema.to_json(), "model": model}
    try:
        data = io.dumps(content, compression=ZIP_DEFLATED, compresslevel=1)
        strange = untrusted(io.get_untrusted_types(data=data), trusted)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The model cannot be saved safely: {_first_line(error)}", "model") from None
    if strange:
        raise InputError(
            f"The model cannot be saved safely: it holds {several(strange)}; what is your own can be named, "
            f"trusted={strange!r}, here and to load it.",
            "model",
        )
    write_whole(path, data)


def load_model(path: str | Path, *, trusted: Sequence[str] = ()) -> SavedModel:
    """Load a model written by :func:`save_model`. Raise :class:`InputError` for any other content.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of str
        Full names of your own types that the file may contain. Loading imports their modules.

    Returns
    -------
    SavedModel

    Examples
    --------
    >>> import tempfile, selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(300, random_state=0)
    >>> frame = pd.DataFrame(sample.X, columns=list("abcd"))
    >>> data = sl.SelectiveLabels.from_arrays(frame, sample.y, decision_maker=sample.decision_maker)
    >>> model = sl.SelectedSampleClassifier("linear").fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sl.save_model(model, Path(folder, "model.skops"))
    ...     loaded = load_model(Path(folder, "model.skops"))
    >>> bool((loaded.predict(frame) == model.predict(frame)).all())
    True
    """
    io = skops_io()

    path = Path(path)
    data = read_file("path", path, "model file")
    _refuse_bomb(data, path)
    try:
        names = io.get_untrusted_types(data=data)
    except Exception as error:  # a damaged file can raise many exceptions
        raise InputError(
            f"{path} is not a model file, or is cut off or damaged: {_first_line(error)}", "path"
        ) from None
    strange = untrusted(names, trusted)
    if strange:
        raise InputError(
            f"{path} holds {several(strange)}, which no model file needs; it is not loaded.", "path"
        )
    try:
        content = io.loads(data, trusted=names)
        refuse_wild_trees(content)
    except Exception as error:
        raise InputError(f"{path} is damaged: {_first_line(error)}", "path") from None
    return _read_content(content, path)


def refuse_functions(model: Any) -> None:
    """Raise :class:`InputError` if a parameter is a function, which cannot be stored as data.

    Examples
    --------
    >>> from selective_labels import UCLClassifier
    >>> refuse_functions(UCLClassifier(label_range=(lambda X: 0.1, 0.9)))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: The model cannot be saved: label_range is a function, ...
    """
    for name, value in model.get_params(deep=False).items():
        parts = value if isinstance(value, list | tuple) else [value]
        if any(callable(part) and not hasattr(part, "get_params") for part in parts):
            raise InputError(
                f"The model cannot be saved: {name} is a function, and files hold data only; give numbers.",
                "model",
            )


def skops_io() -> Any:
    """Import ``skops.io`` without PyTorch, which would take longer than all the rest of a command.

    skops lists scikit-learn's estimators by importing its packages; one that cannot be imported is passed
    over, and the one that needs PyTorch has no estimator.
    """
    hide = "torch" not in sys.modules
    if hide:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        from skops import io
    finally:
        if hide:
            del sys.modules["torch"]
    return io


def _read_content(content: Any, path: Path) -> SavedModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            f"{path} is not a model file of selective-labels; make one with: selective-labels fit.", "path"
        )
    version = content.get("format_version")
    if type(version) is not int:
        raise _damaged(path, "it does not say the version of its format")
    if version != FORMAT_VERSION:
        raise InputError(
            f"{path} was written by a newer version of selective-labels; update, or fit again.", "path"
        )
    try:
        schema = ModelSchema.from_json(content["schema"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(path, "its schema cannot be read") from None
    saved = SavedModel(content.get("model"), schema)
    _refuse_unusable(saved, path)
    warning = version_warning(schema)
    if warning is not None:
        warnings.warn(warning, UserWarning, stacklevel=3)
    return saved


def _refuse_bomb(data: bytes, path: Path) -> None:
    """Raise :class:`InputError` before unpacking an archive that expands to far more than its size."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            unpacked = sum(each.file_size for each in archive.infolist())  # reading never exceeds these sizes
    except (BadZipFile, ValueError, OSError, LookupError, NotImplementedError):
        raise InputError(f"{path} is not a model file, or is cut off or damaged.", "path") from None
    if unpacked > largest_expansion(len(data)):
        raise InputError(
            f"{path} unpacks to {unpacked / MIB:,.0f} MiB, as no model does; not loaded.", "path"
        )


def _refuse_unusable(saved: SavedModel, path: Path) -> None:
    """Check that the model matches its schema, with a trial prediction of one row."""
    model, schema = saved.model, saved.schema
    if not isinstance(model, BaseEstimator) or not hasattr(model, "predict"):
        raise _damaged(path, "it holds no model")
    if getattr(model, "n_features_in_", None) != len(schema.features):
        raise _damaged(path, "its model has other features than its schema")
    try:
        if model.classes_.tolist() != list(schema.classes):
            raise _damaged(path, "its model has other classes than its schema")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            saved.predict(schema.example())
    except InputError:
        raise
    except Exception as error:  # a damaged model can raise many exceptions
        raise _damaged(path, f"its model cannot predict ({_first_line(error)})") from None


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is damaged: {reason}.", "path")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
