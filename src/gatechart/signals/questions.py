"""The same question again."""

from __future__ import annotations

from dataclasses import dataclass
from re import findall
from typing import ClassVar, Final

from gatechart.signals.slots import require, require_whole, require_window, slot_of
from gatechart.values import HOLDS, PROGRESSED, SAID, Detector, Evidence, Look, Reason, Said

_LONGEST_KEPT: Final = 100
_BETWEEN: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class SameQuestion(Detector):
    """Notice that somebody says nearly the same again.

    Texts are compared without regard to case, order of words and punctuation, by their first 100 characters; the slot
    keeps them, so it is longer than others. It ceases when something else is said, or with progress that the chart
    tells of.
    """

    sees: ClassVar[int] = SAID | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    similarity: float = 0.9  # from 0 to 1: of two texts that count as the same
    last: int = 5  # texts that are remembered
    times: int = 3  # that it must be said
    shortest: int = 12  # characters below which a text is no question, such as "yes please"

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be found."""
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
        for said in (each for each in look.told if isinstance(each, Said)):
            slot = self._after_text(slot, _normal(said.text))
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return how often it was said, and the text."""
        texts = slot[1:].split(_BETWEEN)
        said = (each.text for each in reversed(look.read_trail(SAID)) if isinstance(each, Said))
        text = next((each for each in said if _normal(each) == texts[-1]), texts[-1])
        return {"times": self._count(texts[-1], texts), "threshold": self.times, "text": text}

    def _after_text(self, slot: str, text: str) -> str:
        if len(text) < self.shortest:
            return slot
        texts = [*filter(None, slot[1:].split(_BETWEEN)), text][-self.last :]
        least = self.times - 1 if slot.startswith(HOLDS) else self.times
        return slot_of(self._count(text, texts) >= least, _BETWEEN.join(texts))

    def _count(self, text: str, texts: list[str]) -> int:
        from rapidfuzz.fuzz import token_sort_ratio  # noqa: PLC0415  most agents have no such detector

        return sum(token_sort_ratio(text, each) >= self.similarity * 100 for each in texts)


def _normal(text: str) -> str:
    return " ".join(findall(r"\w+", text.casefold()))[:_LONGEST_KEPT]
