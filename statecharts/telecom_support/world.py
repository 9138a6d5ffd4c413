"""The outside of the support: phones and the company's systems, reached by tools, and how they can fail."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

from gatechart.values.frozen import value


class World(Protocol):
    """One user's phone, and what the company knows of them."""

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Use a tool and return its answer: text, or what JSON holds. Raises ValueError if the tool refuses."""
        ...

    def is_change(self, tool: str) -> bool:
        """Whether a tool changes something, rather than only look."""
        ...


class ToolDownError(ConnectionError):
    """A tool failed before it did anything."""


@value
class Used:
    """A use of a tool, as it can be compared with another."""

    tool: str
    arguments: Mapping[str, Any]


class Failing:
    """A world in which each use of a tool fails by chance, before it does anything.

    share: of the uses, from 0 to 1. chance: seeded, for this world alone, so that it does not matter which other
    worlds are in use.
    """

    def __init__(self, world: World, share: float, chance: Random) -> None:
        self._world = world
        self._share = share
        self._chance = chance
        self.changes: list[Used] = []  # those that answered, in order
        self.uses = 0  # that answered, those that only looked among them
        self.failures = 0

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """See World. Raises ToolDownError."""
        if self._chance.random() < self._share:
            self.failures += 1
            raise ToolDownError(f"{tool} is down")
        answer = self._world.use(tool, arguments)
        self.uses += 1
        if self.is_change(tool):
            self.changes.append(Used(tool, arguments))
        return answer

    def is_change(self, tool: str) -> bool:
        """See World."""
        return self._world.is_change(tool)


class Worlds:
    """The worlds of the agents, by the agents' ids."""

    def __init__(self) -> None:
        self._worlds: dict[str, World] = {}

    def __setitem__(self, agent_id: str, world: World) -> None:
        self._worlds[agent_id] = world

    def __getitem__(self, agent_id: str) -> World:
        return self._worlds[agent_id]

    def __delitem__(self, agent_id: str) -> None:
        del self._worlds[agent_id]
