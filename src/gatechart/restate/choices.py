"""Choices of a handoff's target, and the gates of directory entries, in an agent's object.

A choice is a separate journaled run, before the run that offers the work: a crash before its entry in the journal
repeats the choice, a later crash does not.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from gatechart.errors.failures import message_of
from gatechart.errors.operation import ChoiceFailedError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.packet import HandoffPacket
from gatechart.handoff.reading import read_packet
from gatechart.hosting.directory import Gate, breakers_of, slot_of
from gatechart.hosting.directory_graph import FORGET, digest_of
from gatechart.hosting.directory_verbs import agent_of, local_terms
from gatechart.restate.state import plain
from gatechart.restate.terms import ServiceConfig
from gatechart.restate.unit_of_work import UnitOfWork
from gatechart.selection.explaining import explanation_json, explanation_of
from gatechart.turn.choices import take_choice, undecided
from gatechart.turn.handoff_acceptance import RejectedOffer, Void
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import Mail
from gatechart.values.names import OFFERED, WITHDRAWN
from gatechart.values.profiles import Candidate, Choice

CANDIDATE: Final[TypeAdapter[Candidate]] = TypeAdapter(Candidate)


def chosen(unit: UnitOfWork, event: Event) -> TurnRecord | RejectedOffer | Void | None:
    """Return the turn that offers work to its chosen target; None if the target must be chosen first.

    The unit's entry then requests the choice. Mail that withdraws the handoff ends it without a choice. Raises
    ChoiceFailedError.
    """
    packet = undecided(unit.snapshot, event, unit.config.packet_migrations)
    if not isinstance(packet, HandoffPacket):
        return packet
    if _is_withdrawn(unit, packet.handoff_id):
        return Void()
    choice = unit.choices.get(packet.handoff_id)
    if choice is None:
        has_tools = any(map(breakers_of, unit.config.registry.graphs))
        unit.entry.choice = {"packet": packet.model_dump(mode="json"), "asks_breakers": has_tools}
        return None
    if "failed" in choice:
        raise ChoiceFailedError(packet.handoff_id, choice["failed"])
    candidate = None if choice["candidate"] is None else CANDIDATE.validate_python(choice["candidate"])
    turn = take_choice(
        unit.snapshot,
        event,
        packet,
        Choice(explanation_of(choice["explanation"]), candidate, noted=choice.get("noted")),
    )
    if isinstance(turn, TurnRecord) and choice["keeps"] is not None:
        unit.order("begin", **choice["keeps"])
    return turn


def _is_withdrawn(unit: UnitOfWork, handoff: str) -> bool:
    if unit.state.offers.get(handoff, HandoffStatus.CHOOSING) is not HandoffStatus.CHOOSING:
        return True  # the agent does not know it yet
    due = unit.state.due(unit.now)
    return any(mail.event == WITHDRAWN and mail.payload.get("handoff") == handoff for mail in due)


async def choice_for(config: ServiceConfig, request: dict[str, Any], broken: list[str]) -> bytes:
    """Make the choice that an entry requests, or report its failure, as bytes for the journal. Never raises.

    broken: names of the open circuit breakers.
    """
    packet = read_packet(request["packet"], ())
    try:
        async with asyncio.timeout(config.terms.turn_s):
            choice = await config.chooser.choose(packet, config.now(), broken)
            keeps = None if choice.candidate is None else await _keeper(config, choice.candidate)
    except ChoiceFailedError as error:
        return to_json({"failed": error.problem})
    except Exception as error:  # also from the projection: if it propagated, it would block the agent
        return to_json({"failed": f"{type(error).__name__}: {message_of(error)}"})
    document = {"explanation": explanation_json(choice.explanation), "keeps": keeps, "noted": choice.noted}
    return to_json({"candidate": None if choice.candidate is None else plain(CANDIDATE, choice.candidate), **document})


async def _keeper(config: ServiceConfig, candidate: Candidate) -> dict[str, Any] | None:
    """Return the order to start the agent that records the results of the work; None if it exists already."""
    directory = config.chooser.directory
    if await directory.kept(candidate.id) is not None:
        return None
    terms = local_terms(directory, candidate.id)
    argument = {"graph": DIRECTORY_GRAPH, "at": "LOCAL", "payload": terms.model_dump(mode="json"), "framework": True}
    return {"to": agent_of(candidate.id), "told": argument}


async def disown(unit: UnitOfWork) -> None:
    """Remove the agent from the directory entries that mention it, as known to this process."""
    for keeper in await unit.config.chooser.directory.mentioning(unit.agent_id):
        unit.post(Mail(0, keeper, FORGET, {"digest": digest_of(unit.agent_id)}, unit.now))


async def gate_for(unit: UnitOfWork, graph: AnyGraph, event: Event) -> tuple[Gate, str]:
    """Return the gate of the entry that an offer is for, and the name that its slots are counted under.

    The graph's own capacity applies if the entry has none.
    """
    entry = event.payload.get("recipient") or f"{graph.name}.{event.name.removeprefix(OFFERED)}"
    gate = await unit.config.chooser.directory.gate(entry)
    if gate.most is not None:
        return gate, slot_of(entry)
    return Gate(gate.closed, graph.accepts.capacity), graph.name
