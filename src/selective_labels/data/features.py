"""What kind of feature a column is: a number, a date or a category. Decided here and nowhere else."""

import re
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from selective_labels._errors import InputError, shown

CURRENCY = r"US\$|[$€£¥₹]|USD|EUR|GBP|CHF"
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[-+−]?)"
    rf"(?P<digits>\d[\d.,'’\s]*\d|\d|\.\d+)\s*(?P<after>{CURRENCY})?\s*(?P<percent>%)?(?P<close>\))?"
)
PLAIN = re.compile(r"\d*\.?\d+|\d+\.")
# Thousands before a decimal point, and before a decimal comma; the group is the separator of thousands.
POINT = re.compile(r"\d{1,3}(?:([,'’\s])\d{3})(?:\1\d{3})*(?:\.\d+)?")
COMMA = re.compile(r"\d+,\d+|\d{1,3}(?:([.'’\s])\d{3})(?:\1\d{3})*(?:,\d+)?|\d+")
CODE = re.compile(r"\d+")
PLAINLY, THOUSANDS, COMMAS = "", "separators of thousands", "decimal commas"
# Fewer leading zeros than this, among numbers of several lengths, do not make a code.
CODE_SHARE = 0.01


class Amounts(NamedTuple):
    """Numbers, NaN where a cell is none, and the marks that were read over."""

    numbers: pd.Series
    marks: tuple[str, ...]


def read_numbers(values: pd.Series) -> Amounts:
    """Numbers of cells that are not missing, however they are written.

    "5,750", "$1,200.50", "(300)", "12 %" and, where a column leaves no doubt, "1.234,5" are numbers; percent
    are hundredths, as in a spreadsheet. A column that mixes percentages with numbers, or currencies, is an
    error: one number could then mean two things.

    Examples
    --------
    >>> read_numbers(pd.Series(["5,750", "$1,200", "80"])).numbers.tolist()
    [5750.0, 1200.0, 80.0]
    >>> read_numbers(pd.Series(["7 %", "12.5%"]))
    Amounts(numbers=0    0.070
    1    0.125
    dtype: float64, marks=('percent signs',))
    >>> read_numbers(pd.Series(["5,750", "many"])).numbers.tolist()
    [5750.0, nan]
    """
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    left = values[numbers.isna()]
    if not left.map(lambda value: isinstance(value, str)).all() or not len(left):
        return Amounts(numbers, ())
    cells = pd.Series(values.astype(str).str.strip().unique())
    parts = cells.str.extract(WRITTEN.pattern).where(cells.str.fullmatch(WRITTEN.pattern))
    parts = parts[parts["open"].isna() == parts["close"].isna()].dropna(subset="digits")
    if parts.empty:
        return Amounts(numbers, ())
    digits, style = _digits(parts["digits"])
    currency = parts["before"].fillna(parts["after"]).dropna()
    _refuse_two_meanings(cells, parts, digits, currency, values.name)
    size = digits * np.where(parts["percent"].notna(), 0.01, 1.0)
    negative = parts["open"].notna() | parts["sign"].isin(["-", "−"]) | parts["inner"].isin(["-", "−"])
    read = dict(zip(cells[parts.index], np.where(negative, -size, size), strict=True))
    found = values.astype(str).str.strip().map(read).astype(float)
    marks = [
        (bool(len(currency)), f"the currency sign {currency.iloc[0]}" if len(currency) else ""),
        (style != PLAINLY, style),
        (bool(parts["percent"].notna().any()), "percent signs"),
        (bool(parts["open"].notna().any()), "negative numbers in brackets"),
    ]
    # What is a number already stays bit for bit what it was, unless its point stands for thousands.
    whole = found if style == COMMAS else numbers.fillna(found)
    return Amounts(whole, tuple(words for present, words in marks if present))


def _digits(texts: pd.Series) -> tuple[pd.Series, str]:
    """Sizes, by the one way to write decimals that fits every cell; and which that is."""
    plain, point, comma = (texts.str.fullmatch(each.pattern) for each in (PLAIN, POINT, COMMA))
    if (plain | point).all() or not comma.all():
        tidy = texts.where(plain | point).str.replace(r"[,'’\s]", "", regex=True)
        return pd.to_numeric(tidy, errors="coerce"), THOUSANDS if (point & ~plain).any() else PLAINLY
    tidy = texts.str.replace(r"[.'’\s]", "", regex=True).str.replace(",", ".", regex=False)
    return pd.to_numeric(tidy, errors="coerce"), COMMAS


def _refuse_two_meanings(
    cells: pd.Series, parts: pd.DataFrame, digits: pd.Series, currency: pd.Series, name: object
) -> None:
    """Raise if the same digits could mean two things in one column."""
    whole = len(parts) == len(cells) and digits.notna().all()
    percent = parts["percent"].notna()
    for mixed, what in (
        (percent.any() and not percent.all(), "percentages and plain numbers"),
        (currency.nunique() > 1, "several currencies"),
    ):
        if whole and mixed:
            where = percent if what.startswith("percent") else parts["before"].fillna(parts["after"]).notna()
            others = cells[parts.index][~where]
            second = others.iloc[0] if len(others) else cells[currency[currency != currency.iloc[0]].index[0]]
            first = cells[parts.index][where].iloc[0]
            raise InputError(
                f"Column {shown(name)} mixes {what}, such as {shown(first)} and {shown(second)}; write them "
                f"alike, or give --category {shown(name)} or --exclude {shown(name)}.",
                "X",
            )


def looks_like_code(values: pd.Series) -> bool:
    """Whether digits are a code and not a number: some begin with a zero that a number would lose.

    All of one length, or at least 1 % with such a zero.

    Examples
    --------
    >>> [looks_like_code(pd.Series(each)) for each in (["02139", "10115"], ["0.5", "0"], ["10", "12"])]
    [True, False, False]
    """
    if not len(values) or not values.map(lambda value: isinstance(value, str)).all():
        return False
    cells = values.str.strip()
    if not cells.str.fullmatch(CODE.pattern).all():
        return False
    padded = has_leading_zero(cells)
    return bool(padded.any() and (cells.str.len().nunique() == 1 or padded.mean() >= CODE_SHARE))


def has_leading_zero(cells: pd.Series) -> pd.Series:
    """Which cells are digits after a zero, such as "007".

    Examples
    --------
    >>> has_leading_zero(pd.Series(["007", "0", "70"])).tolist()
    [True, False, False]
    """
    return cells.str.fullmatch(r"0\d+").astype(bool)


NUMBER, CATEGORY, DATE = "number", "category", "date"
# What pandas calls the content of a column of Python objects, where it is not text.
OBJECTS = {
    "boolean": NUMBER,
    "decimal": NUMBER,
    "floating": NUMBER,
    "integer": NUMBER,
    "mixed-integer-float": NUMBER,
    "date": DATE,
    "datetime": DATE,
    "datetime64": DATE,
    "timedelta": DATE,
    "timedelta64": DATE,
}
OPAQUE = (nw.Object, nw.String, nw.Unknown)
STRANGE = (nw.Array, nw.Binary, nw.List, nw.Struct, nw.Time)
# A column of numbers with fewer other values than this share has typing errors, not categories.
STRAY_SHARE = 0.01
YEAR_FIRST = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
YEAR_LAST = re.compile(r"\d{1,2}[/.]\d{1,2}[/.]\d{4}")


def kind_by_type(column: nw.Series) -> str:
    """Kind of a column of a typed table: text is a category, whatever it says.

    Examples
    --------
    >>> frame = nw.from_native(pd.DataFrame({"age": [31], "job": ["cook"], "zip": ["10115"]}))
    >>> [kind_by_type(column) for column in frame.iter_columns()]
    ['number', 'category', 'category']
    """
    dtype = column.dtype
    # A column of Python objects may hold anything, whatever its first values are.
    content = pd.api.types.infer_dtype(as_objects(column)) if isinstance(dtype, OPAQUE) else ""
    if isinstance(dtype, STRANGE) or content == "complex":
        raise InputError(
            f"X has a column {column.name!r} of type {content or dtype}, which is neither number, text, "
            "category nor date; convert it or leave it out.",
            "X",
        )
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration)):
        return DATE
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return CATEGORY
    return OBJECTS.get(content, CATEGORY) if content else NUMBER


def kind_by_content(column: pd.Series) -> str:
    """Kind of a column that was read from a file, where everything is text at first.

    Text whose every value reads as a number ("5,750" and "12 %" do) is a number, as a date a date; digits
    with leading zeros are a code, so a category. Dates with the year last count only if day and month can be
    told apart. Numbers among which fewer than 1 % of the values are not are an error: whether to mend these
    is for people to say.

    Examples
    --------
    >>> columns = [True, False], ["1", "2"], ["2024-02-01", None], ["a", "1"], ["$5,750"], ["02139"]
    >>> [kind_by_content(pd.Series(column)) for column in columns]
    ['number', 'number', 'date', 'category', 'number', 'category']
    """
    types = pd.api.types
    if types.is_datetime64_any_dtype(column):
        return DATE
    if isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORY
    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
        return NUMBER
    values = _plain_values(column)
    if not len(values):
        return NUMBER
    if looks_like_code(values):
        return CATEGORY
    numbers = read_numbers(values).numbers
    if values.map(lambda value: isinstance(value, str)).all():
        _refuse_stray_words(column, numbers)
    if numbers.notna().all():
        return NUMBER
    return DATE if read_dates(values.astype(str)) is not None else CATEGORY


def looks_like_dates(column: pd.Series) -> bool:
    """Whether every value that is not missing is a date."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    values = column.dropna()
    return bool(len(values)) and read_dates(values.astype(str)) is not None


def read_dates(text: pd.Series) -> pd.Series | None:
    """Dates if every value is one, else None.

    Examples
    --------
    >>> read_dates(pd.Series(["31/12/2024"])).dt.month.tolist(), read_dates(pd.Series(["01/02/2024"]))
    ([12], None)
    """
    sample = text.iloc[:100].str.strip()
    if sample.map(lambda value: YEAR_FIRST.fullmatch(value) is not None).all():
        dates = pd.to_datetime(text.str.replace("/", "-"), format="ISO8601", errors="coerce", utc=True)
        return without_zone(dates) if dates.notna().all() else None
    if sample.map(lambda value: YEAR_LAST.fullmatch(value) is not None).all():
        slashes = text.str.strip().str.replace(".", "/", regex=False)
        orders = [pd.to_datetime(slashes, format=each, errors="coerce") for each in ("%d/%m/%Y", "%m/%d/%Y")]
        whole = [dates for dates in orders if dates.notna().all()]
        # If both orders are possible, nothing says which was meant.
        return whole[0] if len(whole) == 1 else None
    return None


def without_zone(dates: pd.Series) -> pd.Series:
    """Dates in universal time, without saying so."""
    return dates.dt.tz_convert("UTC").dt.tz_localize(None) if dates.dt.tz is not None else dates


def as_objects(column: nw.Series) -> pd.Series:
    """Values of a column of any library as Python objects."""
    return pd.Series(column.to_list(), dtype=object)


def _plain_values(column: pd.Series) -> pd.Series:
    """Values that are not missing; refuse lists, bytes and other things that no feature can be."""
    values = column.dropna()
    strange = values.map(lambda value: isinstance(value, list | tuple | dict | set | bytes | np.ndarray))
    if strange.any():
        what = type(values[strange].iloc[0]).__name__
        raise InputError(
            f"Column {shown(column.name)} holds values of type {what}, which no feature can be; "
            "--exclude it.",
            "X",
        )
    return values


def _refuse_stray_words(column: pd.Series, numbers: pd.Series) -> None:
    """Refuse a column whose values that are not missing are numbers, but for a few."""
    stray = (column.notna() & numbers.reindex(column.index).isna()).to_numpy()
    if 0 < stray.sum() < STRAY_SHARE * column.notna().sum():
        word = shown(column.iloc[int(stray.argmax())])
        raise InputError(
            f"Column {shown(column.name)} holds numbers, but row {stray.argmax() + 1:,} holds {word} "
            f"({stray.sum():,} such values in all); mend them, give --missing {word} if that means missing, "
            f"or --category {shown(column.name)}.",
            "X",
        )


# A tree cuts ordered columns into at most this many intervals.
N_INTERVALS = 64
# So many rows, drawn at random, tell a leak as well as all.
MAX_ROWS = 20_000
# A column leaks if guessing from it alone errs on less than this share of held-out rows ...
MAX_ERROR = 0.01
# ... and on less than this part of what guessing the commonest value errs.
MAX_RELATIVE_ERROR = 0.05
MIN_ROWS = 20


def leaking_columns(frame: pd.DataFrame, target: np.ndarray) -> list[str]:
    """Name the columns from each of which alone the target can (nearly) be read.

    The commonest target in each bin of a column (its values, its being missing, or, if it is ordered, the
    intervals of a tree) is learned on half of the rows and tried on the rest. A column leaks if one of these
    errs on less than 1 % of the rows and less than a twentieth of what the commonest target of all errs.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : (n_samples,) int array

    Returns
    -------
    list of str

    Examples
    --------
    >>> target = np.arange(100) % 2
    >>> leaking_columns(pd.DataFrame({"copy": 5 - target, "noise": np.arange(100) // 7}), target)
    ['copy']
    """
    target = np.asarray(target)
    if len(target) < MIN_ROWS or len(np.unique(target)) < 2:
        return []
    # Rows often come sorted; halves drawn at random have both ends of every order in each.
    drawn = np.random.default_rng(0).permutation(len(target))[:MAX_ROWS]
    frame, target = frame.iloc[drawn], target[drawn]
    learn = np.arange(len(target)) % 2 == 0
    commonest = int(np.bincount(target[learn]).argmax())
    baseline = np.mean(target[~learn] != commonest)
    threshold = min(MAX_ERROR, MAX_RELATIVE_ERROR * baseline)
    return [
        str(column)
        for column in frame.columns
        if min(_error(bins, target, learn, commonest) for bins in _bins(frame[column], target, learn))
        < threshold
    ]


def _bins(column: pd.Series, target: np.ndarray, learn: np.ndarray) -> list[np.ndarray]:
    """Ways to cut a column, each as codes from 0; a missing value is a value."""
    ways = [np.asarray(pd.factorize(column)[0]) + 1, column.isna().to_numpy(dtype=int)]
    if _is_ordered(column):
        tree = DecisionTreeClassifier(max_leaf_nodes=N_INTERVALS, random_state=0)
        values = _unit_scale(column)[:, None]
        ways.append(tree.fit(values[learn], target[learn]).apply(values))
    return ways


def _unit_scale(column: pd.Series) -> np.ndarray:
    """Ordered values between 0 and 1, because trees read single precision; infinities at the ends."""
    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype("int64").where(column.notna())
    values = column.to_numpy(dtype=float, na_value=np.nan)
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return (np.clip(values, lowest, highest) - lowest) / max(highest - lowest, np.finfo(float).tiny)


def _is_ordered(column: pd.Series) -> bool:
    types = pd.api.types
    number = types.is_numeric_dtype(column) and not types.is_complex_dtype(column)
    return bool(number or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column))


def _error(bins: np.ndarray, target: np.ndarray, learn: np.ndarray, commonest: int) -> float:
    counts = np.zeros((bins.max() + 1, target.max() + 1), dtype=int)
    np.add.at(counts, (bins[learn], target[learn]), 1)
    guess = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), commonest)
    return float(np.mean(guess[bins[~learn]] != target[~learn]))
