"""Find phrases in messages, except where the message negates them."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.texts import folded, marks

PhrasePairs: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Phrases by language, as a value that can be compared and hashed."""

GAP: Final = "…"

_NEGATED: Final = re.compile(
    r"\b(?:no|not|never|without|nothing|(?:do|does|did|need|wo|is|are|was)n'?t|rather than|instead of)"
    r"(?: +(?!(?:but|and|so|because|can|could|please|let)\b)[\w']+){0,4} *$"
    r"|\b(?:are you|you are|you're|am i|is (?:this|it))"
    r"(?: +(?!(?:i|want|need|get|give|let|so|and|but)\b)[\w']+){0,4} *$"
    r"|(?<![能要会會可是有再么麼])[不別别没沒無无勿非][是用要需必想会會能算太帮我给給再说說把请請求很那么麼什打]{0,4}$"
)
"""Matches text before a phrase that negates it, with a few words between, or that asks whether the agent is a person.

能不能 and similar phrases ask rather than negate, and 再不 and 为什么不 demand.
"""

_NONE_THERE: Final = re.compile(r"(?<!有)[没沒]有[要想说說求需打算过過]{0,4}$")
_QUESTION: Final = re.compile(r"[^,.!;，。！；]{0,6}[吗嗎?？]")
"""没有投诉 negates, and 没有人工客服吗 asks."""

_REACH: Final = 60  # characters before a phrase where a negation counts


@value
class Found:
    """A phrase in a message."""

    phrase: str  # as listed
    language: str


@value
class Phrase:
    """A phrase, prepared for the search."""

    match: Found
    words: tuple[str, ...]  # the longest first; a text must contain all of them
    pattern: re.Pattern[str]


class PhraseSearch:
    """Searches texts for phrases."""

    __slots__ = ("_by_word", "_plain_words", "_words")

    def __init__(self, phrases: PhrasePairs) -> None:
        by_word: dict[str, list[Phrase]] = {}
        for prepared in (_prepared(phrase, language) for language, listed in phrases for phrase in listed):
            by_word.setdefault(prepared.words[0], []).append(prepared)
        self._by_word = by_word
        self._words = tuple(by_word)
        self._plain_words = tuple(filter(str.isascii, by_word))

    def phrase_in(self, text: str) -> Found | None:
        """Return a phrase that a text contains without negating it; None if there is none."""
        plain = folded(text).replace("\u2019", "'")
        words = self._plain_words if plain.isascii() else self._words
        likely = (phrase for word in words if word in plain for phrase in self._by_word[word])
        return next((phrase.match for phrase in likely if _has(plain, phrase)), None)


def _has(text: str, phrase: Phrase) -> bool:
    if not all(word in text for word in phrase.words):
        return False
    return any(not _is_negated(text, *match.span()) for match in phrase.pattern.finditer(text))


def _is_negated(text: str, start: int, end: int) -> bool:
    first = max(start - _REACH, 0)
    if _NEGATED.search(text, first, start):
        return True
    return bool(_NONE_THERE.search(text, first, start)) and not _QUESTION.match(text, end)


def _prepared(phrase: str, language: str) -> Phrase:
    parts = [folded(part).split() for part in phrase.split(GAP)]
    words = sorted(chain.from_iterable(parts), key=len, reverse=True)
    return Phrase(Found(phrase, language), tuple(words), re.compile(_pattern(parts, phrase)))


def _pattern(parts: list[list[str]], phrase: str) -> str:
    """Return the pattern of a phrase. Combining marks, in scripts that have them, belong to words."""
    word = r"\w" if phrase.isascii() else rf"\w{marks()}"
    between = rf"[^{word}]+"
    gap = rf"(?:{between}[{word}]+){{0,3}}?{between}"
    pattern = gap.join(between.join(map(re.escape, part)) for part in parts)
    return rf"(?<![{word}]){pattern}(?![{word}])" if phrase.isascii() or GAP in phrase else pattern
