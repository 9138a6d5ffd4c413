"""Detector of a question that a person repeats."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import ClassVar, Final

from gatechart.signals.slots import require, require_whole, require_window, slot_of
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.texts import UNSPACED, folded, shortened
from gatechart.values.trail import PROGRESSED, SAID, Said

_LONGEST_KEPT: Final = 100  # characters for the words of a text
_LONGEST_CODES: Final = 40  # characters for its numbers and codes; longer ones are kept as a digest
_BETWEEN: Final = "\x1f"  # separates texts
_BEFORE_CODES: Final = "\x1e"  # separates the words of a text from its codes

_JOINERS: Final = "-./:,_#"  # between the parts of a code
_TOKEN: Final = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
_SPACE_IN_UNSPACED: Final = re.compile(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
_JOINED: Final = re.compile(rf"[{_JOINERS}]+")
_BETWEEN_LETTER_AND_DIGIT: Final = re.compile(r"(?<=[^\W\d])-(?=\d)|(?<=\d)-(?=[^\W\d])")
_IDEOGRAPHS: Final = re.compile(r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLES: Final = re.compile(r"[\u3040-\u30ff\uac00-\ud7a3]")  # kana and Hangul
_IDEOGRAPH_LETTERS: Final = 2.5  # Latin letters with the information of one ideograph
_SYLLABLE_LETTERS: Final = 1.8


@dataclass(frozen=True, slots=True)
class SameQuestion(Detector):
    """Detect that a person repeats nearly the same question.

    The comparison ignores case, word order, punctuation and the encoding of accents. It uses the first 100 characters;
    the slot stores them, so it is longer than others. Numbers, codes and currencies must be equal: cancelling order
    1001 is not cancelling order 1002. The signal ends with another text, or with progress that the chart reports.

    `shortest` is in Latin letters and the spaces between words: an ideograph counts as 2.5 letters, and a syllable of
    Japanese or Korean as 1.8.
    """

    sees: ClassVar[int] = SAID | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    similarity: float = 0.9  # from 0 to 1: at least this makes two texts the same question
    last: int = 5  # texts to remember
    times: int = 3  # occurrences that are required
    shortest: int = 12  # letters; a shorter text, such as "yes please", is not a question

    def __post_init__(self) -> None:
        """Refuse numbers that can never match."""
        require(self, similarity=(self.similarity, 0.01))
        require_whole(self, times=(self.times, 2), shortest=(self.shortest, 0))
        require_window(self, last=(self.last, self.times))
        if self.shortest > _LONGEST_KEPT:
            raise ValueError(f"SameQuestion(shortest={self.shortest}) notices nothing; pass {_LONGEST_KEPT} at most")
        if self.similarity > 1:
            raise ValueError(f"SameQuestion(similarity={self.similarity!r}) notices nothing; pass 1 or less")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the last texts."""
        if look.is_told:
            slot = ""
        for message in (entry for entry in look.told if isinstance(entry, Said)):
            slot = self._after_text(slot, _tokens(message.text))
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the text and its number of occurrences."""
        texts = slot[1:].split(_BETWEEN)
        latest = (entry.text for entry in reversed(look.read_trail(SAID)) if isinstance(entry, Said))
        words = texts[-1].partition(_BEFORE_CODES)[0]
        text = next((text for text in latest if _kept(_tokens(text)) == texts[-1]), words)
        return {"times": self._count(texts[-1], texts), "threshold": self.times, "text": text}

    def _after_text(self, slot: str, tokens: _Tokens) -> str:
        if tokens.length < self.shortest:
            return slot
        text = _kept(tokens)
        texts = [*filter(None, slot[1:].split(_BETWEEN)), text][-self.last :]
        least = self.times - 1 if slot.startswith(HOLDS) else self.times
        return slot_of(self._count(text, texts) >= least, _BETWEEN.join(texts))

    def _count(self, text: str, texts: list[str]) -> int:
        return sum(_similarity(text, other) >= self.similarity for other in texts)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A text, prepared for comparison."""

    words: str
    codes: frozenset[str]  # tokens with digits, and currencies

    @property
    def length(self) -> float:
        """Number of Latin letters with the same information."""
        text = " ".join(filter(None, (self.words, *self.codes)))
        ideographs, syllables = (len(pattern.findall(text)) for pattern in (_IDEOGRAPHS, _SYLLABLES))
        return len(text) + ideographs * (_IDEOGRAPH_LETTERS - 1) + syllables * (_SYLLABLE_LETTERS - 1)


def _similarity(text: str, other: str) -> float:
    """Return the similarity of two texts of a slot, from 0 to 1; 0 if their codes differ."""
    from rapidfuzz.fuzz import token_sort_ratio  # noqa: PLC0415  most agents have no such detector

    (words, _, codes), (other_words, _, other_codes) = (part.partition(_BEFORE_CODES) for part in (text, other))
    if codes != other_codes:
        return 0.0
    return 1.0 if words == other_words else token_sort_ratio(words, other_words) / 100


def _kept(tokens: _Tokens) -> str:
    """Return the form of a text for the slot. Texts of older slots have no codes."""
    words, codes = shortened(tokens.words, _LONGEST_KEPT), " ".join(sorted(tokens.codes))
    if len(codes) > _LONGEST_CODES:
        codes = sha256(codes.encode()).hexdigest()[:16]
    return f"{words}{_BEFORE_CODES}{codes}" if codes else words


def _tokens(text: str) -> _Tokens:
    words: list[str] = []
    codes: set[str] = set()
    for token in _TOKEN.findall(folded(text).translate(_CHARACTERS)):
        for part, is_code in _parts(token):
            if is_code:
                codes.add(_BETWEEN_LETTER_AND_DIGIT.sub("", _JOINED.sub("-", part)))
            else:
                words += filter(None, _JOINED.split(part))
    return _Tokens(_SPACE_IN_UNSPACED.sub("", " ".join(words)), frozenset(codes))


def _parts(token: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a token, each with whether it is a code. Codes contain no letters of scripts without case."""
    if not any(character.isdecimal() for character in token):
        if unicodedata.category(token[0]) == "Sc":
            yield token, True
        else:
            yield from _numerals(token)
        return
    for is_in_code, run in groupby(token, _is_in_code):
        part = "".join(run).strip(_JOINERS)
        if part and is_in_code and any(map(str.isdecimal, part)):
            yield part, True
        elif part:
            yield from _numerals(part)


def _numerals(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text without digits, each with whether it is a number in ideographs, such as 一千零一.

    A single ideograph is none, because 一 is a part of many words.
    """
    for place, part in enumerate(_NUMERALS.split(text)):
        if part:
            yield part, place % 2 == 1


def _is_in_code(character: str) -> bool:
    return character.isdecimal() or character.islower() or character in _JOINERS


class _Characters(dict[int, str]):
    """Replacements for the characters of a folded text, by code point: a digit of ASCII, the same, or a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            replacement = str(unicodedata.decimal(character))
        elif category == "Sc":
            replacement = f" {character} "
        elif category == "Cf":  # joiners of letters, and marks of the direction of writing
            replacement = ""
        else:
            replacement = character if category[0] in "LMN" or character in _JOINERS else " "
        self[code] = replacement
        return replacement


_CHARACTERS: Final = _Characters()
_NUMERALS: Final = re.compile("([〇零一二三四五六七八九十廿卅百千万萬億亿兆两兩壹贰貳叁參肆伍陆陸柒捌玖拾佰仟]{2,})")
