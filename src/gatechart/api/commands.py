"""All commands that homes of agents execute, and the reader of their JSON."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, TypeAdapter

from gatechart.api import (
    agents,
    alarms,
    breakers,
    directory,
    events,
    handoffs,
    history,
    lessons,
    mail,
    scheduling,
    search,
    watchdog,
)
from gatechart.api.command import Command

_NOUNS: Final = (
    agents,
    events,
    mail,
    handoffs,
    history,
    search,
    scheduling,
    breakers,
    directory,
    alarms,
    watchdog,
    lessons,
)

KINDS: Final[tuple[type[Command], ...]] = tuple(
    member
    for noun in _NOUNS
    for member in vars(noun).values()
    if isinstance(member, type) and issubclass(member, Command) and member.__module__ == noun.__name__
)
"""The class of each command."""

_ANY: Final[Any] = Annotated[reduce(or_, KINDS), Field(discriminator="verb")]

COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(_ANY, config=ConfigDict(defer_build=True))
"""Reader of commands of any verb: `COMMANDS.validate_json(text)`. Write one with `command.model_dump_json()`."""
