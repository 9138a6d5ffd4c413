"""The packet: all that the agent which takes over needs to know, checked, versioned, and never lossy."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, TypeAlias

from pydantic import AfterValidator, AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, JsonValue

from gatechart.values import Mode, Obstacle, Reason, in_utc

Time: TypeAlias = Annotated[AwareDatetime, AfterValidator(in_utc)]
"""A moment with its time zone, kept in UTC: zones whose offset has seconds would not come back from JSON."""


class Part(BaseModel):
    """The base of everything in a packet: frozen, and what it does not know it keeps, as long as that is JSON."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        allow_inf_nan=False,
        str_min_length=0,  # any length; but only text that has one to keep to is checked for lone surrogates
    )

    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)


class Priority(StrEnum):
    """How soon somebody should look at it."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class ToolCall(Part):
    """A tool that was called while a message was made."""

    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    output: JsonValue = None
    error: str = ""  # what went wrong; empty where nothing did


class Message(Part):
    """Something that was said in the conversation."""

    role: str  # who said it: user, agent, ...; `SUMMARY` for what stands for messages that were left out
    content: str = ""
    time: Time | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class ReasoningStep(Part):
    """Something that was tried, and what came of it."""

    step_id: str
    action: str
    details: str = ""
    outcome: str = ""
    reasoning: str = ""  # why it was tried


class Metadata(Part):
    """What holds for the whole conversation."""

    locale: str = ""
    environment: str = ""
    priority: Priority = Priority.NORMAL


class PathStep(Part):
    """An agent that had the work."""

    agent: str
    graph: str
    entry_point: str = ""
    state: str = ""  # in which it handed the work on
    achieved: str = ""  # in words; empty where it got nowhere
    time: Time | None = None  # when it handed the work on


class FallbackKind(StrEnum):
    """What a fallback offers the work to."""

    SAME_TARGET = "same_target"  # the target that was tried last
    OTHER_GRAPH = "other_graph"  # another graph, or an agent of it
    HUMAN = "human"  # a graph that stands for people, or an agent of it

    @classmethod
    def _missing_(cls, value: object) -> FallbackKind | None:
        """Read the kinds of packets that were stored before fallbacks had their names."""
        return {"again": cls.SAME_TARGET, "other": cls.OTHER_GRAPH, "person": cls.HUMAN}.get(str(value))


class FallbackStep(Part):
    """A fallback that has yet to be tried, as it travels in a packet. `fallback_steps` makes it from `Fallbacks`."""

    kind: FallbackKind
    graph: str = ""  # this and the next two are of other graphs and humans
    entry_point: str = ""
    agent: str = ""  # a living agent; a new one where empty
    attempts: int = Field(1, ge=1)  # this and what follows are of another try, as in `Retry`
    first_s: FiniteFloat = Field(1.0, ge=0)
    factor: FiniteFloat = Field(2.0, ge=1)
    most_s: FiniteFloat = Field(60.0, ge=0)


class Attempt(Part):
    """An offer that was made in vain."""

    handoff_id: str = ""
    graph: str = ""
    entry_point: str = ""
    agent: str = ""
    obstacle: Obstacle | None = None
    details: str = ""
    time: Time | None = None


def readable(text: str) -> str:
    r"""The text with lone surrogates, which an exception's may have, written as escapes.

    >>> readable("ünï" + chr(0xD800))
    'ünï\\ud800'
    """
    return text.encode(errors="backslashreplace").decode()


SCHEMA_VERSION: Final = 1
"""The version of the packets that this gatechart makes."""

FALLBACK_FIELDS: Final = ("fallbacks", "ladder")
"""The names under which packets keep their fallbacks: the one of today, then the one in packets stored before."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class HandoffPacket(Part):
    """What one agent hands to another. Whatever it holds comes back from JSON as it was, unknown fields included.

    A user fills in what there is to say; the framework fills in who hands on to whom. What JSON cannot hold is refused
    with pydantic's ValidationError, which says where it stands: NaN and infinity, text with lone surrogates, and what
    is no JSON value. `model_copy` checks nothing, as in pydantic.

    >>> packet = HandoffPacket(reason=Reason.OUT_OF_SCOPE, current_problem="a fridge to repair", mood="cold")
    >>> HandoffPacket.model_validate(packet.model_dump(mode="json")) == packet
    True
    """

    fits_every_context: ClassVar[bool] = True  # for the validation of graphs: see `fields_for`

    schema_version: int = SCHEMA_VERSION
    handoff_id: str = ""
    request: str = ""  # the id of the first attempt
    session_id: str = ""
    user_id: str = ""
    source_agent: str = ""
    source_graph: str = ""
    source_state: str = ""
    target_agent: str = ""
    target_graph: str = ""
    entry_point: str = ""
    is_new: bool = True  # whether the target begins with it
    mode: Mode = Mode.TRANSFER
    reason: Reason = Reason.OTHER
    initial_query: str = ""
    current_problem: str = ""
    conversation: tuple[Message, ...] = ()  # oldest first
    reasoning: tuple[ReasoningStep, ...] = ()  # oldest first
    entities: dict[str, JsonValue] = Field(default_factory=dict)
    internal_state: dict[str, JsonValue] = Field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    suggested_action: str = ""
    metadata: Metadata = Metadata()
    deadline: Time | None = None
    path: tuple[PathStep, ...] = ()  # the agents so far, the one that asks last
    fallbacks: tuple[FallbackStep, ...] = Field(
        default=(), validation_alias=AliasChoices(*FALLBACK_FIELDS)
    )  # yet to be tried
    attempts: tuple[Attempt, ...] = ()  # made in vain, oldest first
    evidence: str = ""  # of the loop that brings it to a person
    traceparent: str = ""  # of the offer, as W3C Trace Context writes it; empty where nothing is traced


def packet_schema() -> dict[str, Any]:
    """The JSON Schema of packets, draft 2020-12: what others may send, and what they get."""
    return {"$schema": _DIALECT} | HandoffPacket.model_json_schema()
