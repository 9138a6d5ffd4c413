"""Detector of work that needs a domain or a capability which the agent lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, TypeAlias

from gatechart.graph.names import names_of, one_or_more
from gatechart.graph.selection import NeedRule
from gatechart.signals.slots import slot_of
from gatechart.values.detectors import Detector, Evidence, Look
from gatechart.values.frozen import fill, replaced
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs, Profile
from gatechart.values.trail import NOTED, SAID, Noted, Said

What: TypeAlias = Literal["domain", "capability"]

_FIELDS: Final = {"domain": "domains", "capability": "capabilities"}
_REASONS: Final = {"domain": Reason.KNOWLEDGE_GAP, "capability": Reason.OUT_OF_SCOPE}
_SURE: Final = 0.5
_BETWEEN: Final = "\x1f"
_LONGEST_KEPT: Final = 100


@dataclass(frozen=True, slots=True, init=False)
class Lacks(Detector):
    """Detect a request that needs a domain, or a capability, that the agent's entry point does not have.

    what: "domain" or "capability". rules: the needs of a message; the rules of a selection can be used. Among the rules
    with such a need, the first that applies to the message and the reason counts. has: names that the entry point has,
    in place of its profile; without a profile it lacks nothing.

    An invoke reports a need with `work.note("domain:refunds", 0.8)`; a number below 0.5 does not count. One of several
    needed names is enough, unless the needs set `all`. The signal ceases with the next request that the agent can meet.
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
        if not all(isinstance(name, str) for name in own or ()):
            raise ValueError(f"Lacks({what!r}, has={has!r}) names no {_FIELDS[what]}; pass their names")
        if self.rules and not self.counted:
            raise ValueError(f"Lacks({what!r}) notices nothing: no rule needs a {what}; pass one that does")

    @property
    def reason(self) -> Reason:  # type: ignore[override]
        """Knowledge gap for a domain, out of scope for a capability."""
        return _REASONS[self.what]

    @property
    def variant(self) -> str:  # type: ignore[override]
        """The value of `what`, so that its signals are `lacks_domain` and `lacks_capability`."""
        return self.what

    @property
    def counted(self) -> tuple[NeedRule, ...]:
        """The rules with such a need, for any reason or for the reason of this detector."""
        return tuple(rule for rule in self.rules if self._named(rule.needs) and rule.reason in (None, self.reason))

    @property
    def may_lack(self) -> bool:
        """Whether the agent lacks the needs of a rule."""
        return bool(self._lacking(rule.needs for rule in self.counted))

    def of_entry_point(self, profile: Profile | None) -> Lacks:
        """Return the detector with `has` from the profile of an entry point."""
        if self.has is not None or profile is None:
            return self
        return replace(self, has=getattr(profile, _FIELDS[self.what]))

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the names that the last request lacked."""
        requests = [*self._requests(look)]
        if not requests:
            return slot
        lacking = self._lacking(requests)
        return slot_of(bool(lacking), _BETWEEN.join(lacking)[:_LONGEST_KEPT])

    def finds_anew(self, look: Look) -> bool:
        """Return whether a request of this turn lacks something."""
        return bool(self._lacking(self._requests(look)))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the names that the request needs, and the names that the entry point has."""
        return {"needs": slot[1:].split(_BETWEEN), "has": list(self.has or ()), "what": self.what}

    def _lacking(self, requests: Iterable[Needs]) -> list[str]:
        """Return the needed names that the entry point lacks, without duplicates."""
        if self.has is None:
            return []
        lacking: dict[str, None] = {}
        for needs in requests:
            missing = [name for name in self._named(needs) if name not in self.has]
            if needs.all or len(missing) == len(self._named(needs)):
                lacking |= dict.fromkeys(missing)
        return [*lacking]

    def _requests(self, look: Look) -> Iterator[Needs]:
        """Yield the needs of each request in a turn; empty needs if any agent can do it."""
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
    """Return the rules as a tuple. Raises TypeError for a value that is not a NeedRule."""
    given = one_or_more(rules)
    for rule in given:
        if not isinstance(rule, NeedRule):
            raise TypeError(f"{rule!r} is no rule; pass NeedRule(Needs(domains=...)), or with capabilities=...")
    return given
