"""Escapes from the problems that agents notice, in an agent's object.

Facts outside the object are requested from the engine, one after another, before the run that carries out the escape:
the answers are in the journal, so a repeated run sees the same. They are the run's `facts`, by question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json
from restate import ObjectContext, ObjectSharedContext, VirtualObject

from gatechart.api.errors import ErrorDocument
from gatechart.errors.operation import ElsewhereError
from gatechart.errors.outside import ProjectionLagError
from gatechart.errors.root import EventError
from gatechart.escape.scene import ToolFacts
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.escapes import past_turns, way_out
from gatechart.hosting.lessons import LEARNING, keeper_of, lessons_kept
from gatechart.hosting.rollback import check_given_away
from gatechart.hosting.tool_facts import tool_facts
from gatechart.ports import Store
from gatechart.restate.auxiliary_objects import AS_BYTES, BYTES, NOTHING
from gatechart.restate.process_breakers import ALL, RECORD
from gatechart.restate.state import SNAPSHOT, plain
from gatechart.restate.terms import Names
from gatechart.restate.unit_of_work import UnitOfWork
from gatechart.turn.handoff_acceptance import Void
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.escapes import PastTurn
from gatechart.values.framework import (
    LESSONS_GRAPH,
    is_framework_graph,
)
from gatechart.values.lessons import NO_LESSONS, Lessons
from gatechart.values.names import AgentId

MOST_PAST_BYTES: Final = 1_000_000
"""Size limit of an answer about an agent's past: older turns that do not fit are left out."""

_PAST: Final[TypeAdapter[list[PastTurn]]] = TypeAdapter(list[PastTurn])
_TURN: Final = TypeAdapter(PastTurn)

Question = dict[str, Any]


async def way_out_of(unit: UnitOfWork, graph: AnyGraph, event: Event) -> TurnRecord | Void | None:
    """Return the turn of an escape; None if a question must be answered first, which the unit's entry then has."""
    limit_s = unit.config.terms.turn_s
    try:
        turn = await way_out(_Facts(unit), graph, unit.snapshot, event, limit_s)
    except _NotAskedError:
        return None
    # An escape that depends on the open question was passed over: the next run decides again with the answer.
    return turn if unit.entry.question is None else None


class _NotAskedError(Exception):
    """The engine must answer a question first."""


class _Facts:
    """The engine's answers about an agent. Fulfils EscapeHost."""

    def __init__(self, unit: UnitOfWork) -> None:
        self._unit = unit

    @property
    def services(self) -> Any:
        """See EscapeHost."""
        return self._unit.config.services

    async def tools(self, graph: AnyGraph, snapshot: Snapshot) -> Mapping[str, ToolFacts]:
        """See EscapeHost."""
        broken = {each["name"]: RECORD.validate_python(each) for each in self._answer("breakers")}
        policies = self._unit.config.gates.policies
        return tool_facts(graph, snapshot.configuration, self.services, policies, broken.get)

    async def past(self, snapshot: Snapshot, most: int) -> Sequence[PastTurn]:
        """See EscapeHost. Empty without a projection. Raises ProjectionLagError."""
        if not self._unit.config.projects:
            return ()
        turns = _PAST.validate_python(self._answer("past", after=max(snapshot.version - most, 0)))
        newest = turns[-1].version if turns else 0
        if newest < snapshot.version:
            raise ProjectionLagError(snapshot.agent_id, snapshot.version, newest)
        return turns

    async def back_to(self, snapshot: Snapshot, version: int) -> Snapshot:
        """See EscapeHost."""
        if not self._unit.config.projects:
            raise ElsewhereError("rollback", "serve with a projection=", "a service without a projection")
        before = plain(SNAPSHOT, snapshot) | {"trail": {}}
        answer = self._answer(f"back_to {version}", version=version, before=before)
        if "error" in answer:
            raise ErrorDocument.model_validate(answer["error"]).value()
        return SNAPSHOT.validate_python(answer["snapshot"])

    async def lessons(self, graph: AnyGraph) -> Lessons:
        """See EscapeHost. If the agent that keeps them does not exist, it is started with the escape."""
        keeper = keeper_of(graph.name)
        answer = self._answer("lessons", keeper=keeper)
        if answer is not None:
            keeper_snapshot = SNAPSHOT.validate_python(answer["snapshot"])
            return lessons_kept(keeper_snapshot) if is_framework_graph(keeper_snapshot.graph) else NO_LESSONS
        self._unit.order(
            "begin", to=keeper, told={"graph": LESSONS_GRAPH, "at": LEARNING, "payload": {}, "framework": True}
        )
        return NO_LESSONS

    def _answer(self, what: str, **more: Any) -> Any:
        if what not in self._unit.facts:
            self._unit.entry.question = {"what": what, **more}
            raise _NotAskedError
        return self._unit.facts[what]


async def engine_answer(ctx: ObjectContext, names: Names, question: Question) -> Any:
    """Return the engine's answer to the question of an entry."""
    match question["what"].partition(" ")[0]:
        case "breakers":
            return json.loads(await ctx.generic_call(names.breaker_list, "read", NOTHING, ALL))
        case "lessons":
            text = await ctx.generic_call(names.agent, "look", NOTHING, question["keeper"])
            return json.loads(text) if text else None
        case "journal":
            return json.loads(await ctx.generic_call(names.journals, "read", to_json(question), ctx.key()))
        case "past":
            await ctx.generic_call(names.projection, "project", NOTHING, ctx.key())
            return json.loads(await ctx.generic_call(names.projection, "past", to_json(question), ctx.key()))
        case _:
            argument = to_json(question, inf_nan_mode="constants")
            return json.loads(await ctx.generic_call(names.projection, "back_to", argument, ctx.key()))


def add_readers(projection: VirtualObject, store: Store) -> None:
    """Add the handlers for agents in need of an escape to the object of a projection."""

    @projection.handler("past", kind="shared", output_serde=BYTES)
    async def past(ctx: ObjectSharedContext, question: Question) -> bytes:
        return await ctx.run_typed("past", partial(_past, store, ctx.key(), int(question["after"])), AS_BYTES)

    @projection.handler("back_to", kind="shared", output_serde=BYTES)
    async def back_to(ctx: ObjectSharedContext, question: Question) -> bytes:
        return await ctx.run_typed("back_to", partial(_back_to, store, ctx.key(), question), AS_BYTES)


async def _past(store: Store, agent_id: AgentId, after: int) -> bytes:
    """Return the newest turns above a version as JSON, oldest first, up to the size limit of an answer."""
    texts: list[bytes] = []
    room = MOST_PAST_BYTES
    for turn in reversed(past_turns(await store.history(agent_id, after=after))):
        text = _TURN.dump_json(turn)
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    return b"[" + b",".join(reversed(texts)) + b"]"


async def _back_to(store: Store, agent_id: AgentId, question: Question) -> bytes:
    try:
        target = await store.snapshot_at(agent_id, int(question["version"]))
        await check_given_away(store, SNAPSHOT.validate_python(question["before"]), target)
    except EventError as error:
        return to_json({"error": ErrorDocument.of(error).model_dump(mode="json")})
    return b'{"snapshot":' + SNAPSHOT.dump_json(target) + b"}"
