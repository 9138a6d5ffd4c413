"""The packet: all that the agent which takes over needs to know, checked, versioned, and never lossy."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import Field, JsonValue

from gatechart.handoff.parts import Attempt, Message, Metadata, Part, PathStep, ReasoningStep, Rung, Time
from gatechart.values import Mode, Reason

SCHEMA_VERSION: Final = 1
"""The version of the packets that this gatechart makes."""

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
    ladder: tuple[Rung, ...] = ()  # still to be tried
    attempts: tuple[Attempt, ...] = ()  # made in vain, oldest first
    evidence: str = ""  # of the loop that brings it to a person
    traceparent: str = ""  # of the offer, as W3C Trace Context writes it; empty where nothing is traced


def packet_schema() -> dict[str, Any]:
    """The JSON Schema of packets, draft 2020-12: what others may send, and what they get."""
    return {"$schema": _DIALECT} | HandoffPacket.model_json_schema()
