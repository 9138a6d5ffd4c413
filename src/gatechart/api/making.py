"""Calls, made of what people give."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import ValidationError

from gatechart.api.calls import Call, HandoffCall
from gatechart.context import problems_of
from gatechart.errors import PayloadError
from gatechart.graph import AnyGraph, Delay, Fallbacks, graph_name
from gatechart.handoff import HandoffPacket, fallback_steps, fallbacks_of
from gatechart.values import AgentId, Mode, Name, Reason, name_of

C = TypeVar("C", bound=Call)


def made(kind: type[C], **given: Any) -> C:
    """The call, which can be written. Raises PayloadError where it cannot be."""
    verb: str = kind.model_fields["verb"].default
    try:
        call = kind(**given)
        call.model_dump_json(exclude={"payload"})  # which is plain already
    except ValidationError as error:
        raise PayloadError(verb, problems_of(error), "what the verb takes") from error
    except ValueError as error:
        raise PayloadError(verb, (str(error),), "texts that can be written in UTF-8") from error
    return call


def handoff_call(
    agent_id: AgentId,
    *,
    to: Name | AnyGraph,
    at: Name,
    packet: HandoffPacket | None = None,
    reason: Reason | str | None = None,
    agent: AgentId | None = None,
    mode: Mode | str = Mode.TRANSFER,
    deadline: Delay | datetime | None = None,
    fallbacks: Fallbacks | None = None,
    idempotency_key: str | None = None,
) -> HandoffCall:
    """What `Runtime.handoff` is called with. Raises PayloadError."""
    return made(
        HandoffCall,
        agent_id=agent_id,
        to=graph_name(to),
        at=name_of(at),
        packet=packet,
        reason=reason,
        agent=agent,
        mode=mode,
        deadline=deadline.total_seconds() if isinstance(deadline, timedelta) else deadline,
        fallbacks=None if fallbacks is None else fallback_steps(fallbacks),
        idempotency_key=idempotency_key,
    )


def handoff_asked(call: HandoffCall) -> dict[str, Any]:
    """The arguments of `Turn.handoff`, and so of `Runtime.handoff`, by name."""
    fallbacks = None if call.fallbacks is None else fallbacks_of(call.fallbacks)
    asked = {name: getattr(call, name) for name in ("to", "at", "packet", "reason", "agent", "mode", "deadline")}
    return asked | {"fallbacks": fallbacks}
