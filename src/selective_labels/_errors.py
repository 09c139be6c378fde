"""What goes wrong by what was given, and what a check found: typed, so that nobody parses a sentence."""

from typing import Self


class InputError(ValueError):
    """What was given cannot be used; the text says in one sentence what is wrong and what to do.

    Only this error is ever shown as a problem of the data: any other is a mistake in a program.

    Parameters
    ----------
    message : str
    argument : str, optional
        The role or argument that it is about, as the library calls it.

    Attributes
    ----------
    argument : str or None
    predicate : str or None
        The message without the argument at its beginning, where it begins with one.

    Examples
    --------
    >>> error = InputError.about("y", "has no label at all.")
    >>> str(error), error.argument, error.said_of("The label 'failed'")
    ('y has no label at all.', 'y', "The label 'failed' has no label at all.")
    """

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.predicate: str | None = None

    @classmethod
    def about(cls, argument: str, predicate: str) -> Self:
        """Begin the sentence with the argument that it is about."""
        error = cls(f"{argument} {predicate}", argument)
        error.predicate = predicate
        return error

    def said_of(self, name: str) -> str:
        """The sentence with another name for the argument, such as that of the user's column."""
        return str(self) if self.predicate is None else f"{name} {self.predicate}"


class UndefinedError(InputError):
    """A number that does not exist for these data, such as a rate among nobody."""


class WorkerError(RuntimeError):
    """Processes or machines that did part of the work are gone; the same work may be asked for again."""


class DiagnosticWarning(UserWarning):
    """A check found that an assumption in use does not fit the data.

    Attributes
    ----------
    code : str
        Of the check, such as "SL601".

    Examples
    --------
    >>> warning = DiagnosticWarning("SL101", "decision-makers hardly differ.")
    >>> warning.code, str(warning)
    ('SL101', 'SL101 decision-makers hardly differ.')
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.code} {self.text}"


class ConstantRuleWarning(UserWarning):
    """Something about a learned rule that is worth knowing and may well be right.

    Examples
    --------
    >>> issubclass(ConstantRuleWarning, UserWarning)  # simplefilter("ignore", ConstantRuleWarning) hides it
    True
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)


class LargeWorkWarning(UserWarning):
    """What is about to be fitted will take long; said before it starts, with about how long.

    Examples
    --------
    >>> issubclass(LargeWorkWarning, UserWarning)  # simplefilter("ignore", LargeWorkWarning) hides it
    True
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)


def require_choice(argument: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value that is not one of those allowed.

    Examples
    --------
    >>> require_choice("mode", "both", ("partial", "point"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: mode='both' is not one of 'partial', 'point'.
    """
    if value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise InputError(f"{argument}={value!r} is not one of {words}.", argument)


# How scikit-learn's searches hand over who decided; without it they drop it.
ROUTING = (
    "call sklearn.set_config(enable_metadata_routing=True) first, so that cross_validate, GridSearchCV and "
    "the like hand it over (params={'decision_maker': ids}, or fit(X, y, decision_maker=ids))"
)

# What packages are called that something needs and that are not installed with this one.
CALLED = {"torch": "PyTorch", "sqlalchemy": "SQLAlchemy"}


def needs(package: str) -> str:
    """Say that a package is missing, by the name that installs it wherever this one came from.

    Examples
    --------
    >>> needs("torch")
    'needs PyTorch: pip install torch'
    """
    return f"needs {CALLED.get(package, package)}: pip install {package}"


def shown(value: object, limit: int = 60) -> str:
    r"""A value for a message: quoted, cut if long, without control characters.

    Examples
    --------
    >>> shown("plain"), shown("x" * 100, limit=5), shown("bell\x07")
    ("'plain'", "'xxxxx…'", "'bell\\x07'")
    """
    text = str(value)
    return repr(text if len(text) <= limit else text[:limit] + "…")


def several(values: list[str], limit: int = 5) -> str:
    """The first few of several values for a message.

    Examples
    --------
    >>> several(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    words = ", ".join(shown(value) for value in values[:limit])
    return words if len(values) <= limit else f"{words} and {len(values) - limit} more"


class TableError(InputError):
    """A table, or a role given to one of its columns, that cannot be used; the text says what to do."""
