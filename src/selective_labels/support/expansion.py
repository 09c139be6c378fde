"""How much a compressed file may unpack to: a few bytes could otherwise fill the memory."""

MIB = 2**20
# Tables and models of numbers shrink to a third or a tenth, text to a twentieth.
LARGEST_RATIO = 100
ALWAYS_ALLOWED = 256 * MIB


def largest_expansion(packed: int) -> int:
    """Bytes that so many packed bytes may become.

    Examples
    --------
    >>> largest_expansion(1000) == 256 * MIB, largest_expansion(100 * MIB) // MIB
    (True, 10000)
    """
    return max(LARGEST_RATIO * packed, ALWAYS_ALLOWED)
