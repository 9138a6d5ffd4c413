"""Prepare names for a drawing: readable, on one line, and never read as markup."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_PLACES = 3  # of a transition taken many times, the first three are shown, and the last


def visible(text: str) -> str:
    r"""Return the text with unprintable characters escaped, so that it stays on one line.

    >>> visible("a\nb")
    'a\\nb'
    """
    return text if text.isprintable() else "".join(map(_visible_character, text))


def one_line(text: str) -> str:
    r"""Return prose as a single line.

    >>> one_line("Answers customers,\n    day and night.")
    'Answers customers, day and night.'
    """
    return visible(" ".join(text.split()))


def _visible_character(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def function_text(name: str) -> str:
    """Return the name of a guard or an action for a drawing.

    >>> function_text("<lambda>"), function_text("keep_query")
    ('λ', 'keep_query')
    """
    return visible(name).replace("<lambda>", "λ")


def places_text(places: Sequence[int]) -> str:
    """Return positions in a trail as a short text.

    >>> places_text([1, 4]), places_text([1, 4, 7, 9, 12])
    ('1 4', '1 4 7 … 12')
    """
    if len(places) <= _MOST_PLACES + 1:
        return " ".join(map(str, places))
    return f"{places_text(places[:_MOST_PLACES])} … {places[-1]}"
