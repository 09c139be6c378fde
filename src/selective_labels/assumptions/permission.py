"""Whether an assumption may be used, with the reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Permission:
    """Whether an assumption may be used, and why: true or false as a condition, words as text.

    Attributes
    ----------
    allowed : bool
    reason : str

    Examples
    --------
    >>> bool(Permission(True, "Nothing speaks against it.")), Permission(False, "SL401 is violated.") == False
    (True, True)
    """

    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Permission):
            return (self.allowed, self.reason) == (other.allowed, other.reason)
        return self.allowed == other if isinstance(other, bool) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.allowed)

    def __str__(self) -> str:
        return f"{'yes' if self.allowed else 'no'}: {self.reason}"
