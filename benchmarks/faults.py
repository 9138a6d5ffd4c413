"""Child processes that are killed at a point of their work, and what an onlooker sees afterwards.

A point is a statement of SQLite, commits included, or a side effect, about to be done or just done.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

Life: TypeAlias = Callable[["World"], Coroutine[Any, Any, None]]
NOWHERE = 0
PATIENCE_S = 60


class FaultError(RuntimeError):
    """A child did not end as it should have."""


@dataclass
class World:
    """What a process has: the database, the outside, and the point at which it dies."""

    folder: Path
    scenario: str
    dies_at: int = NOWHERE
    is_matrix: bool = False  # whether it is killed at each point in turn
    is_impatient: bool = False  # whether the person writes again before anybody else looks after it
    points: list[str] = field(default_factory=list)  # those passed
    is_armed: bool = False
    seen: dict[str, Any] = field(default_factory=dict)  # what this process can tell

    @property
    def database(self) -> Path:
        return self.folder / "conversation.db"

    def revived(self) -> World:
        """The world of the process that comes after."""
        return replace(self, dies_at=NOWHERE, points=[], is_armed=False, seen={})

    def pass_by(self, point: str) -> None:
        """Counts the point, once armed, and dies if it is the one."""
        if not self.is_armed:
            return
        self.points.append(point)
        if len(self.points) == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def do(self, who: str) -> str:
        """A side effect: a line in a file that no database knows of."""
        self.pass_by(f"before the effect of {who}")
        with (self.folder / "journal").open("a") as journal:
            journal.write(f"{who}\n")
            journal.flush()
            os.fsync(journal.fileno())
        self.pass_by(f"after the effect of {who}")
        return who

    def effects(self) -> list[str]:
        """Those done, oldest first."""
        journal = self.folder / "journal"
        return journal.read_text().splitlines() if journal.exists() else []


@dataclass(frozen=True)
class Ended:
    """A process that is gone."""

    was_killed: bool
    points: tuple[str, ...] = ()
    seen: dict[str, Any] = field(default_factory=dict)


def run(life: Life, world: World) -> Ended:
    """Has a child live so, and tells what became of it. Raises FaultError."""
    child = multiprocessing.get_context("fork").Process(target=_live, args=(life, world))
    child.start()
    child.join(PATIENCE_S)
    if child.is_alive():
        child.kill()
        child.join()
        raise FaultError(f"{life.__module__}, {world.scenario} at {world.dies_at}: it did not end")
    if child.exitcode == -signal.SIGKILL:
        return Ended(was_killed=True)
    if child.exitcode != 0:
        raise FaultError(f"{life.__module__}, {world.scenario} at {world.dies_at}: exit code {child.exitcode}")
    told = json.loads((world.folder / "told.json").read_text())
    return Ended(was_killed=False, points=tuple(told["points"]), seen=told["seen"])


def _live(life: Life, world: World) -> None:
    _watch_statements(world)
    with (world.folder / "stderr").open("a") as quiet:
        os.dup2(quiet.fileno(), 2)
    asyncio.run(life(world))
    told = {"points": world.points, "seen": world.seen}
    (world.folder / "told.json").write_text(json.dumps(told))


def _watch_statements(world: World) -> None:
    """Has every statement pass by before SQLite carries it out, whoever has opened the connection."""
    connect = sqlite3.connect

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(lambda statement: world.pass_by(_name_of(statement)))
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = watched  # type: ignore[assignment]


def _name_of(statement: str) -> str:
    """Its first words, which say enough."""
    words = statement.replace("\n", " ").split()
    return " ".join(words[:4] if words[0].upper() in {"INSERT", "DELETE"} else words[:2])


@dataclass
class Findings:
    """What an onlooker sees when all has come to rest."""

    owner: str = ""  # who has the conversation
    messages: list[str] = field(default_factory=list)  # as the owner has them: what the person said, and who answered
    effects: list[str] = field(default_factory=list)  # who had one, in their order
    told: str = ""  # the error that the sender of the wish got
    was_resumed: bool = False  # whether somebody had to find the conversation and go on with it
    looked_done: bool = False  # whether it looked as if there were nothing to go on with
    was_said_again: bool = False  # whether the person had to say it again, as it was nowhere
    next_answer: str = ""  # who answered the next message, or the error that its sender got


FIRST, SECOND, WISH = "My parcel is late.", "It is number 4711.", "I want my money back."
HURRY, NEXT = "And hurry.", "Are you there?"
AGENTS = ("orders", "refunds")  # each answers with its name


def answer_to(text: str, messages: Sequence[str]) -> str:
    """Who answered it; empty where nobody did."""
    following = messages[messages.index(text) + 1 :] if text in messages else ()
    return next((each for each in following if each in AGENTS), "")
