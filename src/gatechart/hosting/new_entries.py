"""Checks of new directory entries: the id is readable and unambiguous, and the registrant's limit allows it."""

from __future__ import annotations

from gatechart.api.directory import RegisterEntryCommand
from gatechart.errors.directory import LookAlikeError, TooManyEntriesError
from gatechart.errors.event import PayloadError
from gatechart.hosting.directory import Directory
from gatechart.values.look_alikes import CLEAR, first_alike, unclear


async def check_new_entry(directory: Directory, command: RegisterEntryCommand) -> None:
    """Raise PayloadError, LookAlikeError or TooManyEntriesError if an entry must not be added.

    Renewals are not checked: entries that are older than these rules or exceed the limit stay, and can be renewed.
    """
    if problem := unclear(command.id):
        raise PayloadError("register_entry", (f"the id {command.id!r}: {problem}",), f"an id of {CLEAR}")
    registered = await directory.registered()
    existing = first_alike(command.id, (*directory.registry.directory_names, *registered))
    if existing is not None:
        raise LookAlikeError(command.id, existing)
    own = sum(registrant == command.registrant for registrant in registered.values())
    if command.registrant and own >= directory.most_entries:
        raise TooManyEntriesError(command.registrant, directory.most_entries)
