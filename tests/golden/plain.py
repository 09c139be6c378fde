"""From results of any kind to what JSON can hold: numbers, truth values, codes, and texts if wanted."""

import math
import re
from collections.abc import Mapping
from datetime import date
from hashlib import sha256
from importlib.metadata import version
from tempfile import gettempdir

import numpy as np
import pandas as pd

# A word is a code, a name or a class; what has a space in it is for people, but for these.
CODES = {"not applicable", "not refuted", "cannot be checked"}
ENDS = ("lower", "upper", "ci_lower", "ci_upper")
# What differs between two runs on two days, or of two commits.
VOLATILE = {"created", "package_version", "version"}
# Words for people, though they may be single ones.
WORDS = {"title", "message", "advice", "detects"}
LEFT_OUT = object()
# Longer lists of numbers are kept by their ends and sums.
MOST_NUMBERS = 60
KEPT = 8


def plain(value, texts=False):
    """Convert a value; texts, as values or as members of lists and dicts, are left out unless wanted."""
    found = _converted(value, texts)
    return None if found is LEFT_OUT else found


def scrubbed(text):
    """A text without what changes from run to run: dates, versions, temporary folders, addresses."""
    text = text.replace(version("selective-labels"), "VERSION").replace(date.today().isoformat(), "TODAY")
    text = re.sub(rf"{re.escape(gettempdir())}/tmp\w+", "FOLDER", text)
    return re.sub(r"\b0x[0-9a-f]{6,}", "ADDRESS", text)


def digest(text):
    """A hash of a long text, with a space, so that it counts as text."""
    return f"sha256 {sha256(scrubbed(text).encode()).hexdigest()}"


def _converted(value, texts):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or isinstance(value, bool | int):
        return None if value is pd.NA else value
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, str):
        return scrubbed(value) if texts or (value and is_code(value)) else LEFT_OUT
    if isinstance(value, Mapping):
        return _members({str(key): each for key, each in value.items() if key not in VOLATILE}, texts)
    if isinstance(value, list | tuple | np.ndarray):
        found = [_converted(each, texts) for each in value]
        found = [each for each in found if each is not LEFT_OUT]
        return found if texts else shortened(found)
    return _object(value, texts)


def _object(value, texts):
    """Tables by their columns, results by their tables or ends, anything else by its text."""
    if isinstance(value, pd.DataFrame):
        columns = {str(name): value[name].tolist() for name in value.columns}
        index = {} if isinstance(value.index, pd.RangeIndex) else {"index": value.index.tolist()}
        return _members(columns | index, texts)
    words = {"text": str(value), "html": html(value)} if texts else {}
    if hasattr(value, "to_frame") and not isinstance(value, pd.Series):
        gaps = {} if getattr(value, "gaps", None) is None else {"gaps": value.gaps}
        return _members({"table": value.to_frame(), **gaps, **words}, texts)
    if all(hasattr(value, end) for end in ENDS[:2]):
        return _members({end: getattr(value, end) for end in ENDS if hasattr(value, end)}, texts)
    if hasattr(value, "tolist"):
        return _converted(value.tolist(), texts)
    return _converted(str(value), texts)


def _members(members, texts):
    wanted = {name: each for name, each in members.items() if texts or name not in WORDS}
    found = {name: _converted(each, texts) for name, each in wanted.items()}
    return {name: each for name, each in found.items() if each is not LEFT_OUT}


def shortened(values):
    """The ends and the sums of a long list of numbers; any other list as it is."""
    if len(values) <= MOST_NUMBERS or not all(type(each) in (int, float) for each in values):
        return values
    sums = {"sum": float(sum(values)), "squares": float(sum(each * each for each in values))}
    return {"length": len(values), "first": values[:KEPT], "last": values[-KEPT:], **sums}


def html(value):
    """What a notebook shows, as a hash."""
    shown = getattr(value, "_repr_html_", None)
    return None if shown is None else digest(shown())


def is_code(text):
    """Whether a string is for programs.

    >>> is_code("SL101"), is_code("not refuted"), is_code("The bounds are valid.")
    (True, True, False)
    """
    return text in CODES or not any(letter.isspace() for letter in text)
