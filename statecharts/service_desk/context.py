"""What the desk knows of a conversation, and what may be brought to it: at its entry points, and with events."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from gatechart import AgentContext


class Brought(BaseModel):
    """The base of all payloads: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Intent(Brought):
    """Something that a service can do for its user."""

    intent: str = Field(min_length=1)
    is_transactional: bool  # it changes something: it buys, books, reserves
    required_slots: tuple[str, ...] = ()


class DeskContext(AgentContext):
    """One conversation: what the user wants, what is known of it, and what the service said."""

    service: str
    intent: str
    required_slots: tuple[str, ...]  # what the intent cannot do without
    slots: dict[str, str] = Field(default_factory=dict)  # what the user wants, as far as it is known
    offer: dict[str, tuple[str, ...]] = Field(
        default_factory=dict
    )  # the service's last one; several values leave the choice
    results: int | None = None  # how many the last search found
    unconfirmed: dict[str, str] = Field(default_factory=dict)  # read back to the user, who has not answered
    proposal: Intent | None = None  # what the service proposed to do next
    questions: list[str] = Field(default_factory=list)  # slots that the user asked about and did not hear of yet
    answers: dict[str, str] = Field(default_factory=dict)
    successes: int = 0
    failures: int = 0


class Request(Brought):
    """What a user wants of a service when they come to its desk."""

    service: str = Field(min_length=1)
    intent: str = Field(min_length=1)
    required_slots: tuple[str, ...] = ()
    slots: dict[str, str] = {}


class Asked(Brought):
    """A slot that is asked for, with the values to choose from, if any."""

    slot: str = Field(min_length=1)
    values: tuple[str, ...] = ()


class Told(Brought):
    """A slot and its values, the preferred one first."""

    slot: str = Field(min_length=1)
    values: tuple[str, ...] = Field(min_length=1)

    @property
    def value(self) -> str:
        """The preferred value."""
        return self.values[0]


class Choice(Brought):
    """What the user took: a value where the offer left several, else the offer as it was."""

    slot: str = ""
    values: tuple[str, ...] = ()


class Count(Brought):
    """How many results a search has."""

    slot: str = "count"
    values: tuple[int, ...] = Field(min_length=1)
