"""The journals of agents: an object beside each agent's own object, and the agent's handlers for its journals.

The engine sends a service the whole state of an object with each call, so the entries are in a separate object. Calls
from one agent to one object arrive in the order made, so all of them go through the agent, which also knows whether the
writing invocation is still running.
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

    The list of names in a journal is one value of its state, and each entry is another.
    """
    journals = VirtualObject(config.names.journals, **patience(config.terms.turn_s))

    journals.handler("enter")(write_record)
    journals.handler("read")(_read)
    journals.handler("adopt")(_adopt)
    journals.handler("forget")(_forget)
    return journals


async def write_record(ctx: ObjectContext, argument: dict[str, Any]) -> Any:
    """Write an entry, and return the verdict with the stored entry."""
    record = RECORD.validate_python(argument)
    names: list[str] = await ctx.get(_listing(record.journal), ENTRIES) or []
    is_rewritten = record.name in record.replaces
    if record.name in names and not is_rewritten:
        return [Verdict.REPEATED.value, await ctx.get(_entry_key(record.journal, record.name), ENTRIES)]
    for name in record.replaces:
        ctx.clear(_entry_key(record.journal, name))
    remaining = [name for name in names if name == record.name or name not in record.replaces]
    ctx.set(_listing(record.journal), remaining if record.name in remaining else [*remaining, record.name], ENTRIES)
    ctx.set(_entry_key(record.journal, record.name), record.entry, ENTRIES)
    return [Verdict.COMMITTED.value, record.entry]


async def _read(ctx: ObjectContext, request: dict[str, Any]) -> Any:
    """Return the entries of a journal by name, in the order written."""
    journal = request["journal"]
    names: list[str] = await ctx.get(_listing(journal), ENTRIES) or []
    return {name: await ctx.get(_entry_key(journal, name), ENTRIES) for name in names}


async def _adopt(ctx: ObjectContext, argument: dict[str, Any]) -> None:
    """Store the journals of an agent that was moved here."""
    names: dict[str, list[str]] = {}
    for journal, name, entry in argument["entries"]:
        names.setdefault(journal, []).append(name)
        ctx.set(_entry_key(journal, name), entry, ENTRIES)
    for journal, listed in names.items():
        ctx.set(_listing(journal), listed, ENTRIES)


async def _forget(ctx: ObjectContext, _: dict[str, Any]) -> None:
    ctx.clear_all()


def write_entry(config: ServiceConfig) -> Handler:
    """Return the agent's handler that writes an entry of a journal, if the invocation is still running."""

    async def enter(ctx: ObjectContext, argument: dict[str, Any]) -> Any:
        record, text = RECORD.validate_python(argument), await ctx.get("agent", BYTES)
        running = STATE.validate_json(text).calls if text else []
        if not record.is_by_operator and not any(each.invocation == record.invocation for each in running):
            return [Verdict.STALE.value, None]
        return json.loads(await ctx.generic_call(config.names.journals, "enter", to_json(argument), ctx.key()))

    return enter


def read_journal(config: ServiceConfig) -> Handler:
    """Return the agent's handler that reads a journal of this agent, or of the agent `of`."""

    async def journal(ctx: ObjectContext, request: dict[str, Any]) -> Any:
        argument = to_json({"journal": request["journal"]})
        return json.loads(
            await ctx.generic_call(config.names.journals, "read", argument, request.get("of") or ctx.key())
        )

    return journal


def adopt_journals(ctx: ObjectContext, names: Names, entries: Entries) -> None:
    """Send the object the journals of an agent that was moved here."""
    ctx.generic_send(names.journals, "adopt", to_json({"entries": entries}), ctx.key())


def forget_journals(ctx: ObjectContext, names: Names) -> None:
    """Let the object forget the journals of an agent."""
    ctx.generic_send(names.journals, "forget", b"{}", ctx.key())


def told_of(record: JournalRecord) -> Mapping[str, Any]:
    """Return the record as JSON values."""
    document: Mapping[str, Any] = RECORD.dump_python(record, mode="json")
    return document


def _listing(journal: str) -> str:
    return f"names:{journal}"


def _entry_key(journal: str, name: str) -> str:
    """Return the key of an entry. The length marks the end of the journal's name."""
    return f"entry:{len(journal)}:{journal}:{name}"
