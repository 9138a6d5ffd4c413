"""Agents that come from another home: taken in asleep, compared with what they were, and awakened when all are here.

An agent that is asleep is kept and does nothing: no turn, no timer, no invoke. Mail to it is kept behind its own.
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
from gatechart.restate.state import IDS, KEPT, MAIL, RUNNING, Ids, Kept, UnderWay, plain
from gatechart.restate.terms import Bench
from gatechart.restate.unit_of_work import Sitting
from gatechart.values import Mail, MailStatus

NOWHERE: Final = "nowhere"
MIGRATES: Final = "migrates"
HERE: Final = "here"


class Taken(StrEnum):
    """What became of an agent that was to be taken in."""

    NEW = "new"  # it is here, asleep
    SAME = "same"  # it was here before, just as it is
    LIVES = "lives"  # an agent under its id lives here, and is another one or has gone on; nothing was changed


def digest_of_agent(kept: Kept, ids: Ids) -> str:
    """What tells an agent from what it was or will be. It leaves out what its home made up."""
    mail = [plain(MAIL, each) for each in kept.mail if not _is_late(kept, each)]
    late = {each.id for each in kept.mail if _is_late(kept, each)}
    told = {
        "snapshot": plain(KEPT, replace(kept, mail=[], calls=[]))["snapshot"],
        "mail": mail,
        "calls": [[plain(RUNNING, each.running), dict(each.steps)] for each in kept.calls],
        "offers": sorted([each, status.value] for each, status in kept.offers.items() if each not in late),
        "places": dict(kept.places),
        "ids": plain(IDS, ids),
    }
    return sha256(canonical_json(told).encode(errors="replace")).hexdigest()


def standing(kept: bytes | None, ids: bytes | None) -> dict[str, Any] | None:
    """What an agent is compared by, from what the engine keeps; None where it keeps nothing."""
    if not kept:
        return None
    known = KEPT.validate_json(kept)
    digest = digest_of_agent(known, IDS.validate_json(ids) if ids else {})
    return {"digest": digest, "origin": known.origin, "is_there": known.snapshot is not None or bool(known.asleep)}


def terms_for(bench: Bench, graphs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """On which terms agents are taken in, and what becomes of those of these graphs and versions."""
    return {
        "most_bytes": bench.terms.most_bytes,
        "keep_ids": bench.terms.keep_ids,
        "projects": bench.projects,
        "graphs": [[name, version, _home_of(bench, name, version)] for name, version in graphs],
    }


def _home_of(bench: Bench, name: str, version: str) -> str:
    if bench.registry.has(name, version):
        return HERE
    newest = next((graph for graph in bench.registry.graphs if graph.name == name), None)
    if newest is None or way(newest.migrations, version, newest.version) is None:
        return NOWHERE
    return MIGRATES


async def adopt(sitting: Sitting, argument: Mapping[str, Any]) -> None:
    """Keeps an agent, asleep, in the place of what came before from its database; mail that came here stays behind its.

    origin: that database.
    """
    new, ids = KEPT.validate_python(argument["kept"]), IDS.validate_python(argument["ids"])
    here = sitting.kept
    is_same = digest_of_agent(here, sitting.ids) == digest_of_agent(new, ids)
    if is_same and (here.asleep or here.snapshot is not None):
        sitting.decided.answer = {"taken": Taken.SAME.value}
        return
    if here.origin != argument["origin"] if here.asleep else here.snapshot is not None:
        sitting.decided.answer = {"taken": Taken.LIVES.value}
        return
    new.asleep, new.life, new.origin = new.numbers, here.life or token_hex(8), argument["origin"]
    new.arrived = here.arrived
    sitting.become(new, ids)
    for mail in here.mail:
        if not here.asleep or _is_late(here, mail):
            accept(sitting, mail, {})
    sitting.decided.answer = {"taken": Taken.NEW.value}


async def awaken(sitting: Sitting, _: Mapping[str, Any]) -> None:
    """Has an agent that is asleep go on: its timers are set, its invokes begun, its mail taken."""
    kept = sitting.kept
    sitting.decided.answer = {"was_asleep": bool(kept.asleep)}
    if not kept.asleep:
        return
    kept.asleep, kept.origin, sitting.is_touched = 0, "", True
    for mail in kept.mail:
        if mail.status is MailStatus.WAITING and mail.due is not None and mail.due > sitting.now:
            sitting.wake_at(mail, mail.due)
    for each in kept.calls:
        sitting.order("call", running=plain(RUNNING, each.running), steps=dict(each.steps))
    kept.calls = [UnderWay(each.running) for each in kept.calls]
    if next_mail(sitting) is not None:
        sitting.order("drain", after_s=0.0)


async def keep(sitting: Sitting, argument: Mapping[str, Any]) -> None:
    """Keeps mail that comes to an agent that is asleep."""
    if postponed(sitting, argument):
        return
    accept(sitting, MAIL.validate_python(argument["mail"]), argument)


async def stay(_sitting: Sitting, _: Mapping[str, Any]) -> None:
    """Nothing: what is asleep is not to be drained or waked."""


def _is_late(kept: Kept, mail: Mail) -> bool:
    """Whether it came while the agent was moved here."""
    return bool(kept.asleep) and mail.number >= kept.asleep
