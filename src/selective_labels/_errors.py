"""Exceptions and warnings of the package, and helpers that word their messages."""

from typing import Self


class InputError(ValueError):
    """The input cannot be used. The message says what is wrong and what to do.

    Only this exception is reported as a problem with the data. Any other exception is a bug.

    Parameters
    ----------
    message : str
    argument : str, optional
        Role or argument that the message is about, by its name in the library.

    Attributes
    ----------
    argument : str or None
    predicate : str or None
        Message without the argument at its start, if it starts with one.

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
        """Build an error whose message starts with the argument it is about."""
        error = cls(f"{argument} {predicate}", argument)
        error.predicate = predicate
        return error

    def said_of(self, name: str) -> str:
        """Return the message with another name for the argument, such as the user's column name."""
        return str(self) if self.predicate is None else f"{name} {self.predicate}"


class UndefinedError(InputError):
    """The requested quantity is undefined for these data, such as a rate over zero cases."""


class WorkerError(RuntimeError):
    """Worker processes or machines were lost. Running the same work again may succeed."""


class DiagnosticWarning(UserWarning):
    """A check found that an assumption in use does not fit the data.

    Attributes
    ----------
    code : str
        Code of the check, such as "SL601".

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
    """A learned rule has a notable property, such as being constant, that may still be correct.

    Examples
    --------
    >>> issubclass(ConstantRuleWarning, UserWarning)  # simplefilter("ignore", ConstantRuleWarning) hides it
    True
    """


class LargeWorkWarning(UserWarning):
    """The fit is expected to take long. Issued before it starts, with the expected duration.

    Examples
    --------
    >>> issubclass(LargeWorkWarning, UserWarning)  # simplefilter("ignore", LargeWorkWarning) hides it
    True
    """


# Without metadata routing, scikit-learn's searches drop the decision-maker ids.
ROUTING = (
    "call sklearn.set_config(enable_metadata_routing=True) first, so that cross_validate, GridSearchCV and "
    "the like hand it over (params={'decision_maker': ids}, or fit(X, y, decision_maker=ids))"
)

# Names of optional dependencies as their projects spell them.
CALLED = {"torch": "PyTorch", "sqlalchemy": "SQLAlchemy"}


def needs(package: str) -> str:
    """Message that a package is missing, with the command that installs it.

    Examples
    --------
    >>> needs("torch")
    'needs PyTorch: pip install torch'
    """
    return f"needs {CALLED.get(package, package)}: pip install {package}"


def shown(value: object, limit: int = 60) -> str:
    r"""Format a value for a message: quoted, truncated if long, control characters escaped.

    Examples
    --------
    >>> shown("plain"), shown("x" * 100, limit=5), shown("bell\x07")
    ("'plain'", "'xxxxx…'", "'bell\\x07'")
    """
    text = str(value)
    return repr(text if len(text) <= limit else text[:limit] + "…")


def several(values: list[str], limit: int = 5) -> str:
    """List the first few values for a message.

    Examples
    --------
    >>> several(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    words = ", ".join(shown(value) for value in values[:limit])
    return words if len(values) <= limit else f"{words} and {len(values) - limit} more"


class TableError(InputError):
    """A table, or a role given to one of its columns, cannot be used. The message says what to do."""
