"""The arrival of agents from a database: stored asleep, compared with the originals, awakened when all are here.

An agent that is asleep does nothing: no turn, no timer, no invoke. New mail to it is stored after its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final

from gatechart.context import canonical_json
from gatechart.graph.migration import way
from gatechart.restate.mail import accept, next_mail, postponed
from gatechart.restate.state import IDS, MAIL, RUNNING, STATE, AgentState, Ids, UnderWay, plain
from gatechart.restate.terms import ServiceConfig
from gatechart.restate.unit_of_work import UnitOfWork
from gatechart.values.framework import (
    ALERTS_GRAPH,
    WATCHDOG_GRAPH,
    is_framework_agent,
)
from gatechart.values.mail import Mail, MailStatus

NOWHERE: Final = "nowhere"
MIGRATES: Final = "migrates"
HERE: Final = "here"


class ArrivalResult(StrEnum):
    """The result of adopting an agent."""

    NEW = "new"  # stored now, asleep
    SAME = "same"  # stored before, unchanged
    LIVES = "lives"  # another agent with its id lives here, or the agent has continued; nothing was changed


def digest_of_agent(state: AgentState, ids: Ids) -> str:
    """Return a digest of an agent, without the values that its database or engine generated."""
    mail = [plain(MAIL, each) for each in state.mail if not _is_late(state, each)]
    late = {each.id for each in state.mail if _is_late(state, each)}
    content = {
        "snapshot": plain(STATE, replace(state, mail=[], calls=[]))["snapshot"],
        "mail": mail,
        "calls": [[plain(RUNNING, each.running), dict(each.steps)] for each in state.calls],
        "offers": sorted([each, status.value] for each, status in state.offers.items() if each not in late),
        "places": dict(state.places),
        "ids": plain(IDS, ids),
    }
    if state.journals:
        content["journals"] = [list(each) for each in state.journals]
    return sha256(canonical_json(content).encode(errors="replace")).hexdigest()


def standing(known: AgentState | None, ids: bytes | None) -> dict[str, Any] | None:
    """Return the data for comparing an agent; None if the engine has no such agent."""
    if known is None:
        return None
    digest = digest_of_agent(known, IDS.validate_json(ids) if ids else {})
    is_there = (known.snapshot is not None and not _gives_way(known)) or bool(known.asleep)
    return {"digest": digest, "origin": known.origin, "is_there": is_there}


def _gives_way(here: AgentState) -> bool:
    """Return whether an agent of the framework is replaced by the arriving one.

    The service starts the agents of its sinks and its watchdog, and no caller can erase them. A sink that has had no
    alert has nothing to keep, and the watchdog repeats its findings.
    """
    snapshot = here.snapshot
    if snapshot is None or not is_framework_agent(snapshot.agent_id, snapshot.graph) or here.mail or here.calls:
        return False
    return snapshot.graph == WATCHDOG_GRAPH or (snapshot.graph == ALERTS_GRAPH and snapshot.version == 1)


def terms_for(config: ServiceConfig, graphs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the terms for arriving agents, and the new home of agents of these graphs and versions."""
    return {
        "most_bytes": config.terms.most_bytes,
        "keep_ids": config.terms.keep_ids,
        "projects": config.projects,
        "graphs": [[name, version, _home_of(config, name, version)] for name, version in graphs],
    }


def _home_of(config: ServiceConfig, name: str, version: str) -> str:
    if config.registry.has(name, version):
        return HERE
    newest = next((graph for graph in config.registry.graphs if graph.name == name), None)
    if newest is None or way(newest.migrations, version, newest.version) is None:
        return NOWHERE
    return MIGRATES


async def adopt(unit: UnitOfWork, argument: Mapping[str, Any]) -> None:
    """Store an agent asleep, replacing an earlier copy from the same database. Mail that arrived here comes last.

    origin: that database.
    """
    new, ids = STATE.validate_python(argument["kept"]), IDS.validate_python(argument["ids"])
    here = unit.state
    here.mail = unit.all_full(here.mail)
    is_same = digest_of_agent(here, unit.ids) == digest_of_agent(new, ids)
    if is_same and (here.asleep or here.snapshot is not None):
        unit.entry.answer = {"taken": ArrivalResult.SAME.value}
        return
    is_taken = here.snapshot is not None and not _gives_way(here)
    if here.origin != argument["origin"] if here.asleep else is_taken:
        unit.entry.answer = {"taken": ArrivalResult.LIVES.value}
        return
    if here.snapshot is not None and not here.asleep and unit.config.projects:  # it is replaced, and so is its past
        unit.order("unproject")
    # Numbers from `asleep` on mark mail that arrives during the move.
    new.asleep, new.life, new.origin = new.numbers, here.life or token_hex(8), argument["origin"]
    new.arrived = here.arrived
    unit.become(new, ids)
    for mail in here.mail:
        # The new copy has all the mail of an earlier one; only mail that came here is added to it.
        if not here.asleep or _is_late(here, mail):
            accept(unit, mail, {})
    unit.entry.answer = {"taken": ArrivalResult.NEW.value}


async def awaken(unit: UnitOfWork, _: Mapping[str, Any]) -> None:
    """Awaken an agent: set its timers, start its invokes, and process its mail."""
    state = unit.state
    unit.entry.answer = {"was_asleep": bool(state.asleep)}
    if not state.asleep:
        return
    state.asleep, state.origin, unit.is_touched = 0, "", True
    for mail in state.mail:
        if mail.status is MailStatus.WAITING and mail.due is not None and mail.due > unit.now:
            unit.wake_at(mail, mail.due)
    for each in state.calls:
        unit.order("call", running=plain(RUNNING, each.running), steps=dict(each.steps))
    if state.journals:
        unit.order("journals", entries=state.journals)
        state.journals = []
    state.calls = [UnderWay(each.running) for each in state.calls]
    if next_mail(unit) is not None:
        unit.order("drain", after_s=0.0)


async def keep(unit: UnitOfWork, argument: Mapping[str, Any]) -> None:
    """Store mail to an agent that is asleep."""
    if postponed(unit, argument):
        return
    accept(unit, MAIL.validate_python(argument["mail"]), argument)


async def stay(_unit: UnitOfWork, _: Mapping[str, Any]) -> None:
    """Do nothing: an agent that is asleep does not drain its mail or wake up."""


def _is_late(state: AgentState, mail: Mail) -> bool:
    """Return whether mail arrived while the agent was being moved here."""
    return bool(state.asleep) and mail.number >= state.asleep
