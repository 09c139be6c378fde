"""Data inside a page, in a form that cannot leave its place."""

import json
from typing import Any

# Written as \uXXXX, these end no script and open no comment; JSON reads them back unchanged.
UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def embeddable_json(value: Any) -> str:
    r"""JSON that is safe between script tags; everything beyond ASCII is escaped too.

    Examples
    --------
    >>> print(embeddable_json({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(UNSAFE)
