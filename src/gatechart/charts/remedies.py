"""What would have worked, told in a line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

_MOST_COMPARED: Final = 300  # names; to compare more takes longer than a reader waits
_MOST_TOLD: Final = 20


def suggest(wrong: str, known: Sequence[str]) -> str:
    """A clause that offers the known names, those near the wrong one first.

    >>> suggest("GREETNIG", ("GREETING", "DONE"))
    "did you mean 'GREETING'? There are 'GREETING', 'DONE'"
    """
    near = get_close_matches(wrong[:100], known[:_MOST_COMPARED], n=3)
    offer = f"did you mean {' or '.join(map(repr, near))}? There are " if near else "there are "
    told = ", ".join(map(repr, known[:_MOST_TOLD])) or "none"
    rest = len(known) - _MOST_TOLD
    return f"{offer}{told}{f' and {rest} more' if rest > 0 else ''}"
