"""What people say: that they want a person, or that something is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gatechart.graph.names import one_or_more
from gatechart.signals.phrase_search import GAP, Found, PhrasePairs, PhraseSearch
from gatechart.signals.phrases import ASKING_FOR_A_PERSON, TROUBLE, Phrases
from gatechart.signals.slots import slot_of
from gatechart.values import SAID, Detector, Evidence, Look, Reason, Said, TrailEntry
from gatechart.values.frozen import fill

_BY_LANGUAGE: Final = "by language, such as {'en': ['help']}"


@dataclass(frozen=True, slots=True, init=False)
class _Phrased(Detector):
    """A detector of phrases. Each saying of one is a new finding; it ceases with a saying without any."""

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
        if not any(each for _, each in joined):
            raise ValueError(f"{type(self).__name__}() has no phrases; pass some {_BY_LANGUAGE}")
        fill(self, phrases=joined, search=PhraseSearch(joined))

    def _require_phrases(self, name: str, given: object) -> None:
        """Refuse what are no phrases by language."""
        shown = f"{type(self).__name__}({name}={given!r})"
        if not isinstance(given, Mapping):
            raise TypeError(f"{shown} does not say the language; pass phrases {_BY_LANGUAGE}")
        for listed in given.values():
            for each in one_or_more(listed):
                if not (isinstance(each, str) and each.replace(GAP, " ").strip()):
                    raise ValueError(f"{shown}: {each!r} is no phrase; pass texts {_BY_LANGUAGE}")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: whether a phrase was said."""
        found = self._found(look)
        if found is None and not any(isinstance(each, Said) for each in look.told):
            return slot
        return slot_of(found is not None, "")

    def finds_anew(self, look: Look) -> bool:
        """Return whether a phrase is said: who says it again was not helped."""
        return self._found(look) is not None

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the phrase that was said last, and its language."""
        said = look.read_trail(SAID, 1)  # before this turn, if other detectors waited for something else to happen
        found = self._found(look) or self._found_in(said)
        return {} if found is None else {"phrase": found.phrase, "language": found.language}

    def _found(self, look: Look) -> Found | None:
        return self._found_in(look.told)

    def _found_in(self, entries: Iterable[TrailEntry]) -> Found | None:
        said = (each.text for each in entries if isinstance(each, Said))
        return next((found for text in said if (found := self.search.phrase_in(text))), None)


@dataclass(frozen=True, slots=True, init=False)
class UserAsked(_Phrased):
    """Notice that somebody asks for a person, or for another one.

    phrases: by language, in place of the usual ones. also: phrases beside those. In a phrase, `…` stands for up to
    three words. A phrase that is denied ("I don't need a real person") does not count.
    """

    reason: ClassVar[Reason] = Reason.USER_ESCALATION
    usual: ClassVar[Phrases] = ASKING_FOR_A_PERSON


@dataclass(frozen=True, slots=True, init=False)
class Keywords(_Phrased):
    """Notice words that tell of trouble, such as "complaint" or "urgent". phrases, also: as for UserAsked."""

    reason: ClassVar[Reason] = Reason.USER_ESCALATION
    usual: ClassVar[Phrases] = TROUBLE


def _joined(first: Mapping[str, Iterable[str]], second: Mapping[str, Iterable[str]]) -> PhrasePairs:
    languages = dict.fromkeys((*first, *second))
    return tuple((each, (*_listed(first, each), *_listed(second, each))) for each in languages)


def _listed(phrases: Mapping[str, Iterable[str]], language: str) -> tuple[str, ...]:
    listed = phrases.get(language, ())
    return (listed,) if isinstance(listed, str) else tuple(listed)
