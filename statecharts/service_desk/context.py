"""What the desk knows of a conversation, and what may be brought to it: at its entry points, and with events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from gatechart import AgentContext
from statecharts.service_desk.schema import DONT_CARE, Brought, Intent, Kind, Known, Service


class DeskContext(AgentContext):
    """One conversation: what the user wants, what is known of it, and what the service said."""

    service: Service
    intent: str  # its name
    slots: dict[str, str] = Field(default_factory=dict)  # what the user wants, as far as it is known
    carried: tuple[Known, ...] = ()  # what was said to other services before
    speaker: Literal["", "user", "system"] = ""  # whose turn it is; nobody's before the first one
    given: list[str] = Field(default_factory=list)  # slots that the user has filled in this turn
    asked: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # what the service last asked, with its suggestions
    offer: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # several values leave the choice
    results: int | None = None  # how many the last search found
    read_back: dict[str, str] = Field(default_factory=dict)  # for the user to agree to; they have not said no to it
    agreed: dict[str, str] = Field(default_factory=dict)  # what the user agreed to
    proposal: str = ""  # the intent that the service proposed to go on with
    questions: list[str] = Field(default_factory=list)  # slots that the user asked about and did not hear of yet
    answers: dict[str, str] = Field(default_factory=dict)
    successes: int = 0
    failures: int = 0

    @property
    def goal(self) -> Intent:
        """What the user wants now."""
        return self.service.intents[self.intent]

    def kind(self, slot: str) -> Kind:
        """Return what a slot of this service is about."""
        return self.service.slots[slot].kind

    def is_known(self, slot: str, value: str) -> bool:
        """Whether the value follows from what was said: by the user, in answers, to other services, or by default."""
        wanted, default = self.slots.get(slot, DONT_CARE), self.goal.optional_slots.get(slot, DONT_CARE)
        if wanted != DONT_CARE:
            return value == wanted
        if value in (default, wanted) or (slot in self.slots and default == DONT_CARE):
            return True
        kind = self.kind(slot)
        return any(known.value == value and known.fits(slot, kind) for known in self.known())

    def recalled(self, slot: str) -> str | None:
        """Return the value that was said for a slot of the same meaning; None if there was none."""
        kind = self.kind(slot)
        return next((known.value for known in self.known() if known.means(slot, kind)), None)

    def known(self) -> Iterator[Known]:
        """All that was said, to this service, which may have gone by its defaults, and to those before it."""
        for said in (self.answers, self.slots, self._offered(), self.goal.optional_slots):
            for slot, value in reversed(said.items()):
                if slot in self.service.slots and value != DONT_CARE:
                    yield Known(slot=slot, kind=self.kind(slot), value=value)
        yield from self.carried

    def _offered(self) -> dict[str, str]:
        return {slot: values[0] for slot, values in self.offer.items() if len(values) == 1}


class Request(Brought):
    """What a user wants of a service when they come to its desk."""

    service: Service
    intent: str
    slots: dict[str, str] = Field(default_factory=dict)
    carried: tuple[Known, ...] = ()
    speaker: Literal["", "user", "system"] = ""

    @model_validator(mode="after")
    def _has_the_intent(self) -> Self:
        if self.intent not in self.service.intents:
            known = ", ".join(self.service.intents)
            raise ValueError(f"service {self.service.name!r} has no intent {self.intent!r}; it has {known}")
        return self


class TurnBegun(Brought):
    """Somebody begins to speak. text: word for word."""

    speaker: Literal["user", "system"]
    text: str = ""


class Act(Brought):
    """The smallest thing said: the slot that it is about, and values, the preferred one first."""

    slot: str = ""
    values: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The preferred value; empty where there is none."""
        return self.values[0] if self.values else ""


class Call(Brought):
    """The service does what it is there for: it looks something up, or executes it."""

    method: str  # an intent's name
    parameters: dict[str, str]
