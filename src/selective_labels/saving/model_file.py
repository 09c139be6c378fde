"""Fitted models in files that hold data and no code; the schema of the features travels with them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from selective_labels.saving.atomic import require_writable, write_whole
from selective_labels.saving.schema import ModelSchema, schema_of_model, version_warning
from selective_labels.saving.trusted import refuse_wild_trees, untrusted
from selective_labels.support.errors import InputError
from selective_labels.support.expansion import MIB, largest_expansion
from selective_labels.support.words import several

FORMAT = "selective-labels model"
FORMAT_VERSION = 1


def _model_has(method: str) -> Any:
    return lambda saved: hasattr(saved.model, method)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted model and its schema; takes whole tables and finds its features in them.

    Attributes
    ----------
    model : estimator
    schema : ModelSchema
    """

    model: Any
    schema: ModelSchema

    @property
    def classes_(self) -> np.ndarray:
        """Sorted labels."""
        return self.model.classes_

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Class of every row."""
        return self.model.predict(self.schema.read(frame))

    @available_if(_model_has("decision_function"))
    def decision_function(self, frame: pd.DataFrame) -> np.ndarray:
        """Scores, as the model gives them."""
        return self.model.decision_function(self.schema.read(frame))

    @available_if(_model_has("predict_proba"))
    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """Class probabilities, as the model gives them."""
        return self.model.predict_proba(self.schema.read(frame))


def save_model(
    model: Any, path: str | Path, *, schema: ModelSchema | None = None, trusted: Sequence[str] = ()
) -> None:
    """Save a fitted model with skops: data only, no pickle; the file appears whole or not at all.

    Parameters
    ----------
    model : fitted estimator
        What cannot be loaded safely is refused: functions given as parameters, types of other packages.
    path : str or Path
    schema : ModelSchema, optional
        Default: the names of the features, all of them numbers.
    trusted : sequence of str
        Full names of types of your own that may be in it, such as an assumption ("my_module.HalfAsBad"); to
        load it, they are named again.

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
    from skops import io

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
    """Load a model that :func:`save_model` wrote; a file that holds anything else is refused.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of str
        Full names of types of your own that the file may hold; loading imports their modules.

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
    from skops import io

    path = Path(path)
    data = _content(path)
    _refuse_bomb(data, path)
    try:
        names = io.get_untrusted_types(data=data)
    except Exception as error:  # damaged files fail in as many ways as they have parts
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
    """Raise if a parameter is a function, which no file can hold as data.

    Examples
    --------
    >>> from selective_labels.estimators.learners import UCLClassifier
    >>> refuse_functions(UCLClassifier(label_range=(lambda X: 0.1, 0.9)))
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: The model cannot be saved: label_range is a function, ...
    """
    for name, value in model.get_params(deep=False).items():
        parts = value if isinstance(value, list | tuple) else [value]
        if any(callable(part) and not hasattr(part, "get_params") for part in parts):
            raise InputError(
                f"The model cannot be saved: {name} is a function, and files hold data only; give numbers.",
                "model",
            )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no model file {path}.", "path") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}.", "path"
        ) from None


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
    """Refuse an archive that unpacks to far more than its size, before any of it is unpacked."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            unpacked = sum(each.file_size for each in archive.infolist())  # no more of a part is ever read
    except (BadZipFile, ValueError, OSError, LookupError, NotImplementedError):
        raise InputError(f"{path} is not a model file, or is cut off or damaged.", "path") from None
    if unpacked > largest_expansion(len(data)):
        raise InputError(
            f"{path} unpacks to {unpacked / MIB:,.0f} MiB, as no model does; not loaded.", "path"
        )


def _refuse_unusable(saved: SavedModel, path: Path) -> None:
    """Refuse what is no fitted model of these features and classes; one row is predicted as a trial."""
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
    except Exception as error:  # a damaged model fails in as many ways as it has parts
        raise _damaged(path, f"its model cannot predict ({_first_line(error)})") from None


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is damaged: {reason}.", "path")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
