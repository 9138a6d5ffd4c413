"""The journals of agents: an object beside each agent's own, and the agent's handlers that write and read it.

The engine sends a service the whole state of an object with each call, so the entries are not in the agent's own. Calls
from one agent to one object arrive in the order made, so all of them go through the agent, which also knows whether the
invocation that writes is still running.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter
from pydantic_core import to_json
from restate import ObjectContext, VirtualObject
from restate.serde import JsonSerde, Serde

from gatechart.restate.auxiliary_objects import BYTES, patience
from gatechart.restate.state import STATE
from gatechart.restate.terms import Names, ServiceConfig
from gatechart.values.commits import JournalRecord, Verdict

RECORD: Final = TypeAdapter(JournalRecord)
ENTRIES: Final[Serde[Any]] = JsonSerde()

Entries: TypeAlias = list[tuple[str, str, str]]  # journal, name and text of each, in the order written
Handler: TypeAlias = Callable[[ObjectContext, dict[str, Any]], Awaitable[Any]]


def journal_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that keeps the journals of one agent; its key is the agent's id.

    The names of a journal's entries are one value of its state, and each entry is another.
    """
    journals = VirtualObject(config.names.journals, **patience(config.terms.turn_s))

    journals.handler("enter")(_enter)
    journals.handler("read")(_read)
    journals.handler("adopt")(_adopt)
    journals.handler("forget")(_forget)
    return journals


async def _enter(ctx: ObjectContext, told: dict[str, Any]) -> Any:
    """Write an entry, and return the verdict with the entry that is there now."""
    record = RECORD.validate_python(told)
    names: list[str] = await ctx.get(_listing(record.journal), ENTRIES) or []
    is_rewritten = record.name in record.replaces
    if record.name in names and not is_rewritten:
        return [Verdict.REPEATED.value, await ctx.get(_place(record.journal, record.name), ENTRIES)]
    for name in record.replaces:
        ctx.clear(_place(record.journal, name))
    kept = [name for name in names if name == record.name or name not in record.replaces]
    ctx.set(_listing(record.journal), kept if record.name in kept else [*kept, record.name], ENTRIES)
    ctx.set(_place(record.journal, record.name), record.entry, ENTRIES)
    return [Verdict.COMMITTED.value, record.entry]


async def _read(ctx: ObjectContext, asked: dict[str, Any]) -> Any:
    """Return the entries of a journal by name, in the order written."""
    journal = asked["journal"]
    names: list[str] = await ctx.get(_listing(journal), ENTRIES) or []
    return {name: await ctx.get(_place(journal, name), ENTRIES) for name in names}


async def _adopt(ctx: ObjectContext, told: dict[str, Any]) -> None:
    """Take in the journals of an agent that was moved here."""
    names: dict[str, list[str]] = {}
    for journal, name, entry in told["entries"]:
        names.setdefault(journal, []).append(name)
        ctx.set(_place(journal, name), entry, ENTRIES)
    for journal, listed in names.items():
        ctx.set(_listing(journal), listed, ENTRIES)


async def _forget(ctx: ObjectContext, _: dict[str, Any]) -> None:
    ctx.clear_all()


def write_entry(config: ServiceConfig) -> Handler:
    """Return the agent's handler that writes an entry of a journal, if the invocation is still running."""

    async def enter(ctx: ObjectContext, told: dict[str, Any]) -> Any:
        record, text = RECORD.validate_python(told), await ctx.get("agent", BYTES)
        running = STATE.validate_json(text).calls if text else []
        if not record.is_by_operator and not any(each.invocation == record.invocation for each in running):
            return [Verdict.STALE.value, None]
        return json.loads(await ctx.generic_call(config.names.journals, "enter", to_json(told), ctx.key()))

    return enter


def read_journal(config: ServiceConfig) -> Handler:
    """Return the agent's handler that reads a journal of this agent, or of the agent `of`."""

    async def journal(ctx: ObjectContext, asked: dict[str, Any]) -> Any:
        wanted = to_json({"journal": asked["journal"]})
        return json.loads(await ctx.generic_call(config.names.journals, "read", wanted, asked.get("of") or ctx.key()))

    return journal


def adopt_journals(ctx: ObjectContext, names: Names, entries: Entries) -> None:
    """Have the object take in the journals of an agent that was moved here."""
    ctx.generic_send(names.journals, "adopt", to_json({"entries": entries}), ctx.key())


def forget_journals(ctx: ObjectContext, names: Names) -> None:
    """Have the object forget the journals of an agent."""
    ctx.generic_send(names.journals, "forget", b"{}", ctx.key())


def told_of(record: JournalRecord) -> Mapping[str, Any]:
    """Return the record as JSON values."""
    told: Mapping[str, Any] = RECORD.dump_python(record, mode="json")
    return told


def _listing(journal: str) -> str:
    return f"names:{journal}"


def _place(journal: str, name: str) -> str:
    """Return the key of an entry. The length tells where the journal's name ends."""
    return f"entry:{len(journal)}:{journal}:{name}"
