"""What is asked of an agent that cannot do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, TypeAlias

from gatechart.graph import NeedRule
from gatechart.graph.names import names_of, one_or_more
from gatechart.signals.slots import slot_of
from gatechart.values import NOTED, SAID, Detector, Evidence, Look, Needs, Noted, Profile, Reason, Said
from gatechart.values.frozen import fill, replaced

What: TypeAlias = Literal["domain", "capability"]

_FIELDS: Final = {"domain": "domains", "capability": "capabilities"}
_REASONS: Final = {"domain": Reason.KNOWLEDGE_GAP, "capability": Reason.OUT_OF_SCOPE}
_SURE: Final = 0.5
_BETWEEN: Final = "\x1f"
_LONGEST_KEPT: Final = 100


@dataclass(frozen=True, slots=True, init=False)
class Lacks(Detector):
    """Notice that what is asked needs a domain, or a capability, that the agent's entry point does not have.

    what: "domain" or "capability". rules: what a text needs that somebody says; those of a selection will do. Of those
    that need one, the first that applies to the text and the reason counts. has: what the entry point has, in place of
    its profile; without a profile it lacks nothing.

    An invoke tells of a need by `work.note("domain:refunds", 0.8)`; a number below 0.5 does not count. Of several that
    are needed one will do, unless the needs say `all`. It ceases when something else is asked.
    """

    sees: ClassVar[int] = SAID | NOTED

    what: What
    rules: tuple[NeedRule, ...]
    has: tuple[str, ...] | None

    def __init__(
        self,
        what: What,
        rules: Iterable[NeedRule] | NeedRule = (),
        *,
        has: Iterable[str] | str | None = None,
    ) -> None:
        if what not in _FIELDS:
            raise ValueError(f"Lacks({what!r}) notices nothing; pass 'domain' or 'capability'")
        own = None if has is None else names_of(has)
        fill(self, what=what, rules=rules_of(rules), has=own)
        if not all(isinstance(each, str) for each in own or ()):
            raise ValueError(f"Lacks({what!r}, has={has!r}) names no {_FIELDS[what]}; pass their names")
        if self.rules and not self.counted:
            raise ValueError(f"Lacks({what!r}) notices nothing: no rule needs a {what}; pass one that does")

    @property
    def reason(self) -> Reason:  # type: ignore[override]
        """Knowledge gap for a domain, out of scope for a capability."""
        return _REASONS[self.what]

    @property
    def variant(self) -> str:  # type: ignore[override]
        """What it lacks, so that its signals are `lacks_domain` and `lacks_capability`."""
        return self.what

    @property
    def counted(self) -> tuple[NeedRule, ...]:
        """Rules that count for it: those that need one, for any reason or for its own."""
        return tuple(each for each in self.rules if self._named(each.needs) and each.reason in (None, self.reason))

    @property
    def may_lack(self) -> bool:
        """Whether what a rule needs is lacking."""
        return bool(self._lacking(each.needs for each in self.counted))

    def of_entry_point(self, profile: Profile | None) -> Lacks:
        """Return it with what an entry point has."""
        if self.has is not None or profile is None:
            return self
        return replace(self, has=getattr(profile, _FIELDS[self.what]))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: what was lacking when something was asked last."""
        asked = [*self._asked(look)]
        if not asked:
            return slot
        lacking = self._lacking(asked)
        return slot_of(bool(lacking), _BETWEEN.join(lacking)[:_LONGEST_KEPT])

    def finds_anew(self, look: Look) -> bool:
        """Return whether something that is lacking is asked in this very turn."""
        return bool(self._lacking(self._asked(look)))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return what is needed, and what the entry point has."""
        return {"needs": slot[1:].split(_BETWEEN), "has": list(self.has or ()), "what": self.what}

    def _lacking(self, asked: Iterable[Needs]) -> list[str]:
        """Return what is needed and not there, each once."""
        if self.has is None:
            return []
        lacking: dict[str, None] = {}
        for needs in asked:
            missing = [name for name in self._named(needs) if name not in self.has]
            if needs.all or len(missing) == len(self._named(needs)):
                lacking |= dict.fromkeys(missing)
        return [*lacking]

    def _asked(self, look: Look) -> Iterator[Needs]:
        """Yield the needs of each thing that is asked in a turn, none of them if any agent can do it."""
        for entry in look.told:
            match entry:
                case Said(text):
                    yield self._needs_of(text)
                case Noted(measure, number) if measure.startswith(f"{self.what}:") and number >= _SURE:
                    yield replaced(Needs(), **{_FIELDS[self.what]: (measure.partition(":")[2].strip(),)})

    def _needs_of(self, text: str) -> Needs:
        return next((rule.needs for rule in self.counted if rule.applies(self.reason, text)), Needs())

    def _named(self, needs: Needs) -> tuple[str, ...]:
        named: tuple[str, ...] = getattr(needs, _FIELDS[self.what])
        return named


def rules_of(rules: Iterable[NeedRule] | NeedRule) -> tuple[NeedRule, ...]:
    """Return the rules as a tuple. Raises TypeError for what is none."""
    given = one_or_more(rules)
    for each in given:
        if not isinstance(each, NeedRule):
            raise TypeError(f"{each!r} is no rule; pass NeedRule(Needs(domains=...)), or with capabilities=...")
    return given
