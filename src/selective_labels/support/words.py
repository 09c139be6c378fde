"""Values in messages."""

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
