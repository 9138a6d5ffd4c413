"""The rows of a transfer written by hand: what the database itself takes, with no turn worked out and nothing checked.

They are those that gatechart left of one transfer, in the three transactions in which it writes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from benchmarks.databases import GROUP, in_groups
from benchmarks.plain_sql import BEGIN, connected, rows_of

Row: TypeAlias = dict[str, Any]
Work: TypeAlias = Sequence[tuple[str, Sequence[Row]]]  # statements, each with its rows

GO_ON = """UPDATE agents SET configuration = :configuration, context = :context, version = :version, status = :status,
           handoffs = :handoffs WHERE key = :key"""
SETTLE = "UPDATE handoffs SET status = :status, changes = :changes WHERE id = :id"
FORGET = "DELETE FROM mail WHERE number = :number"


def hand_on_all(path: Path) -> float:
    """The seconds to write a transfer of every agent that talks. One agent has handed on its work already."""
    with closing(connected(path)) as database:
        pattern = _Pattern(database)
        talking = rows_of(database.execute("SELECT key, id FROM agents WHERE configuration = '[\"TALKING\"]'"))
        works = [pattern.transfers(some) for some in in_groups(talking, GROUP)]
        began = perf_counter()
        for transactions in works:
            for work in transactions:
                _write(database, work)
        return perf_counter() - began


def standing(path: Path) -> dict[tuple[str, str], int]:
    """How many handoffs stand how, with the status of the agent that asked."""
    with closing(connected(path)) as database:
        found = database.execute(
            "SELECT handoffs.status, agents.status, count(*) FROM handoffs JOIN agents ON agents.id = handoffs.source"
            " GROUP BY handoffs.status, agents.status"
        )
        return {(handoff, agent): count for handoff, agent, count in found}


def _write(database: sqlite3.Connection, work: Work) -> None:
    database.execute(BEGIN)
    for statement, rows in work:
        database.executemany(statement, rows)
    database.execute("COMMIT")


class _Pattern:
    """The rows that a transfer left, and those of others like it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        [self.handoff] = rows_of(database.execute("SELECT * FROM handoffs"))
        self.source, self.target = (self._agent(database, self.handoff[side]) for side in ("source", "target"))
        _, self.asked, self.told = self._turns(database, self.source)
        [self.taken] = self._turns(database, self.target)
        [self.keys] = database.execute("SELECT max(key) FROM agents").fetchone()
        [self.numbers] = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'mail'").fetchone()

    def transfers(self, sources: Sequence[Row]) -> Sequence[Work]:
        """The three transactions in which all of these hand on their work."""
        offers, replies, targets, handoffs = [], [], [], []
        for source in sources:
            self.keys, self.numbers = self.keys + 1, self.numbers + 2
            name = f"{self.keys:032x}"
            offers.append(self._mail(self.taken, self.numbers - 1, name) | {"event_id": name})
            replies.append(self._mail(self.told, self.numbers, source["id"]))
            targets.append(self.target | {"key": self.keys, "id": name})
            handoffs.append(self.handoff | {"id": name, "request": name, "source": source["id"], "target": name})
        asking = [self.source | source | {"configuration": '["WAITING"]', "status": "active"} for source in sources]
        pending = [row | {"status": "pending"} for row in handoffs]
        return (
            (
                (GO_ON, asking),
                _insert("history", [self.asked | {"agent": row["key"]} for row in sources]),
                _insert("mail", offers),
                _insert("handoffs", pending),
            ),
            (
                _insert("agents", targets),
                _insert("history", [self.taken | {"agent": row["key"], "event_id": row["id"]} for row in targets]),
                (FORGET, offers),
                _insert("mail", replies),
                (SETTLE, handoffs),
            ),
            (
                (GO_ON, [self.source | source for source in sources]),
                _insert("history", [self.told | {"agent": row["key"]} for row in sources]),
                (FORGET, replies),
            ),
        )

    def _mail(self, turn: Row, number: int, recipient: str) -> Row:
        """The mail that made the turn."""
        told = {"event": turn["event"], "payload": turn["payload"], "sender": turn["sender"]}
        kept = {"accepted_us": turn["time_us"], "epoch": 1, "status": "waiting", "attempts": 0}
        return told | kept | {"number": number, "recipient": recipient}

    def _agent(self, database: sqlite3.Connection, agent_id: str) -> Row:
        [row] = rows_of(database.execute("SELECT * FROM agents WHERE id = ?", (agent_id,)))
        return row

    def _turns(self, database: sqlite3.Connection, agent: Row) -> list[Row]:
        found = database.execute("SELECT * FROM history WHERE agent = ? ORDER BY version", (agent["key"],))
        return rows_of(found)


def _insert(table: str, rows: Sequence[Row]) -> tuple[str, Sequence[Row]]:
    """The statement that adds them, with the columns that are not NULL."""
    left_out = {"key"} if table in {"history", "handoffs"} else set()  # where it is made up
    columns = [name for name, value in rows[0].items() if value is not None and name not in left_out]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})", rows
