"""Handoffs whose target is chosen, and what entries of the directory let in, in an agent's object.

A choice is a journaled run of its own, before the run that offers the work: a crash before its entry in the journal
chooses anew, one after it does not.
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
from gatechart.turn.handoff_acceptance import Rejection, Void
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import Mail
from gatechart.values.names import OFFERED, WITHDRAWN
from gatechart.values.profiles import Candidate, Choice

CANDIDATE: Final[TypeAdapter[Candidate]] = TypeAdapter(Candidate)


def chosen(unit: UnitOfWork, event: Event) -> TurnRecord | Rejection | Void | None:
    """Return the turn that offers work to the target that was chosen for it; None if that is to be chosen first.

    The unit's entry then asks for the choice. Mail that withdraws the handoff ends it without one. Raises
    ChoiceFailedError.
    """
    asked = undecided(unit.snapshot, event, unit.config.packet_migrations)
    if not isinstance(asked, HandoffPacket):
        return asked
    if _is_withdrawn(unit, asked.handoff_id):
        return Void()
    made = unit.choices.get(asked.handoff_id)
    if made is None:
        has_tools = any(map(breakers_of, unit.config.registry.graphs))
        unit.entry.choice = {"packet": asked.model_dump(mode="json"), "asks_breakers": has_tools}
        return None
    if "failed" in made:
        raise ChoiceFailedError(asked.handoff_id, made["failed"])
    candidate = None if made["candidate"] is None else CANDIDATE.validate_python(made["candidate"])
    turn = take_choice(
        unit.snapshot, event, asked, Choice(explanation_of(made["explanation"]), candidate, noted=made.get("noted"))
    )
    if isinstance(turn, TurnRecord) and made["keeps"] is not None:
        unit.order("begin", **made["keeps"])
    return turn


def _is_withdrawn(unit: UnitOfWork, handoff: str) -> bool:
    if unit.state.offers.get(handoff, HandoffStatus.CHOOSING) is not HandoffStatus.CHOOSING:
        return True  # and the agent has yet to hear of it
    due = unit.state.due(unit.now)
    return any(mail.event == WITHDRAWN and mail.payload.get("handoff") == handoff for mail in due)


async def choice_for(config: ServiceConfig, asked: dict[str, Any], broken: list[str]) -> bytes:
    """Make the choice that an entry asks for, or tell why it failed, as bytes for the journal. Never raises.

    broken: names of the open circuit breakers.
    """
    packet = read_packet(asked["packet"], ())
    try:
        async with asyncio.timeout(config.terms.turn_s):
            made = await config.chooser.choose(packet, config.now(), broken)
            keeps = None if made.candidate is None else await _keeper(config, made.candidate)
    except ChoiceFailedError as error:
        return to_json({"failed": error.problem})
    except Exception as error:  # of the projection, too: raised on, it would block the agent
        return to_json({"failed": f"{type(error).__name__}: {message_of(error)}"})
    told = {"explanation": explanation_json(made.explanation), "keeps": keeps, "noted": made.noted}
    return to_json({"candidate": None if made.candidate is None else plain(CANDIDATE, made.candidate), **told})


async def _keeper(config: ServiceConfig, candidate: Candidate) -> dict[str, Any] | None:
    """Return how to begin the agent that keeps what comes of the work; None if it is there already."""
    directory = config.chooser.directory
    if await directory.kept(candidate.id) is not None:
        return None
    terms = local_terms(directory, candidate.id)
    told = {"graph": DIRECTORY_GRAPH, "at": "LOCAL", "payload": terms.model_dump(mode="json"), "framework": True}
    return {"to": agent_of(candidate.id), "told": told}


async def disown(unit: UnitOfWork) -> None:
    """Have the entries of the directory forget the agent, as far as this process sees that they mention it."""
    for keeper in await unit.config.chooser.directory.mentioning(unit.agent_id):
        unit.post(Mail(0, keeper, FORGET, {"digest": digest_of(unit.agent_id)}, unit.now))


async def gate_for(unit: UnitOfWork, graph: AnyGraph, event: Event) -> tuple[Gate, str]:
    """Return what the entry lets in that an offer is for, and under which name its slots are counted.

    The graph's own capacity holds where the entry has none.
    """
    entry = event.payload.get("recipient") or f"{graph.name}.{event.name.removeprefix(OFFERED)}"
    gate = await unit.config.chooser.directory.gate(entry)
    if gate.most is not None:
        return gate, slot_of(entry)
    return Gate(gate.closed, graph.accepts.capacity), graph.name
