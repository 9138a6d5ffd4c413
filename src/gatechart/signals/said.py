"""Detectors of messages that ask for a person or report trouble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gatechart.graph.names import one_or_more
from gatechart.signals.phrase_search import GAP, Found, PhrasePairs, PhraseSearch
from gatechart.signals.phrases import ASKING_FOR_A_PERSON, TROUBLE, Phrases
from gatechart.signals.slots import slot_of
from gatechart.values.detectors import Detector, Evidence, Look
from gatechart.values.frozen import fill
from gatechart.values.handoffs import Reason
from gatechart.values.trail import SAID, Said, TrailEntry

_BY_LANGUAGE: Final = "by language, such as {'en': ['help']}"


@dataclass(frozen=True, slots=True, init=False)
class _Phrased(Detector):
    """A detector of phrases. Each message with a phrase is a new finding; it ceases with a message without one."""

    sees: ClassVar[int] = SAID
    usual: ClassVar[Phrases]

    phrases: PhrasePairs  # by language
    search: PhraseSearch = field(compare=False, repr=False)

    def __init__(
        self,
        phrases: Mapping[str, Iterable[str]] | None = None,
        *,
        also: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        own = self.usual if phrases is None else phrases
        for name, given in (("phrases", own), ("also", also or {})):
            self._require_phrases(name, given)
        joined = _joined(own, also or {})
        if not any(listed for _, listed in joined):
            raise ValueError(f"{type(self).__name__}() has no phrases; pass some {_BY_LANGUAGE}")
        fill(self, phrases=joined, search=PhraseSearch(joined))

    def _require_phrases(self, name: str, given: object) -> None:
        """Refuse values that are not phrases by language. Raises TypeError or ValueError."""
        shown = f"{type(self).__name__}({name}={given!r})"
        if not isinstance(given, Mapping):
            raise TypeError(f"{shown} does not say the language; pass phrases {_BY_LANGUAGE}")
        for listed in given.values():
            for phrase in one_or_more(listed):
                if not (isinstance(phrase, str) and phrase.replace(GAP, " ").strip()):
                    raise ValueError(f"{shown}: {phrase!r} is not a phrase; pass texts {_BY_LANGUAGE}")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: whether a message contains a phrase."""
        match = self._phrase_of(look)
        if match is None and not any(isinstance(entry, Said) for entry in look.told):
            return slot
        return slot_of(match is not None, "")

    def finds_anew(self, look: Look) -> bool:
        """Return whether a message contains a phrase: a person who repeats it got no help."""
        return self._phrase_of(look) is not None

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the last phrase and its language."""
        earlier = look.read_trail(SAID, 1)  # perhaps of an earlier turn: joined detectors can fire later
        match = self._phrase_of(look) or self._phrase_in(earlier)
        return {} if match is None else {"phrase": match.phrase, "language": match.language}

    def _phrase_of(self, look: Look) -> Found | None:
        return self._phrase_in(look.told)

    def _phrase_in(self, entries: Iterable[TrailEntry]) -> Found | None:
        texts = (entry.text for entry in entries if isinstance(entry, Said))
        return next((match for text in texts if (match := self.search.phrase_in(text))), None)


@dataclass(frozen=True, slots=True, init=False)
class UserAsked(_Phrased):
    """Detect that the user asks for a person, or for a different one.

    phrases: by language, in place of the defaults. also: additional phrases. In a phrase, `…` matches up to three
    words. A negated phrase ("I don't need a real person") does not count.
    """

    reason: ClassVar[Reason] = Reason.USER_ESCALATION
    usual: ClassVar[Phrases] = ASKING_FOR_A_PERSON


@dataclass(frozen=True, slots=True, init=False)
class Keywords(_Phrased):
    """Detect words of trouble, such as "complaint" or "urgent". phrases, also: as for UserAsked."""

    reason: ClassVar[Reason] = Reason.USER_ESCALATION
    usual: ClassVar[Phrases] = TROUBLE


def _joined(first: Mapping[str, Iterable[str]], second: Mapping[str, Iterable[str]]) -> PhrasePairs:
    languages = dict.fromkeys((*first, *second))
    return tuple((language, (*_listed(first, language), *_listed(second, language))) for language in languages)


def _listed(phrases: Mapping[str, Iterable[str]], language: str) -> tuple[str, ...]:
    listed = phrases.get(language, ())
    return (listed,) if isinstance(listed, str) else tuple(listed)
