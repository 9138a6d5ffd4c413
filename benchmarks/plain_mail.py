"""The rows of mail written and read by hand: what the database itself takes to accept mail, and to have it applied."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.databases import GROUP, in_groups
from benchmarks.plain_sql import BEGIN, GO_ON, add_to_history, connected, last_turns, rows_of

ACCEPT = """INSERT INTO mail (number, recipient, event, accepted_us, epoch, status, attempts)
            VALUES (:number, :recipient, :event, :time_us, 0, 'waiting', 0)"""
FORGET = "DELETE FROM mail WHERE number = :number"
WAITING = """SELECT mail.number, history.*, agents.context FROM mail
             JOIN agents ON agents.id = mail.recipient JOIN history ON history.agent = agents.key
             WHERE history.version = agents.version ORDER BY mail.number"""


def post_and_apply(path: Path, times: int) -> float:
    """The seconds to accept so much mail for every agent and to apply it: two transactions for one of each."""
    with closing(connected(path)) as database:
        add, rows = last_turns(database)
        ids = dict(database.execute("SELECT key, id FROM agents"))
        for row in rows:
            row["recipient"] = ids[row["agent"]]
        began = perf_counter()
        for time in range(times):
            for number, row in enumerate(rows, 1 + time * len(rows)):
                row["number"] = number
                row["version"] += 1
            database.execute(BEGIN)
            database.executemany(ACCEPT, rows)
            database.execute("COMMIT")
            _apply(database, add, rows)
        return perf_counter() - began


def apply_waiting(path: Path) -> float:
    """The seconds to read all mail that waits, with its agents, and to apply it, many in a transaction."""
    with closing(connected(path)) as database:
        began = perf_counter()
        rows = rows_of(database.execute(WAITING))
        add = add_to_history(name for name in rows[0] if name != "number")
        for some in in_groups(rows, GROUP):
            for row in some:
                row["version"] += 1
            _apply(database, add, some)
        return perf_counter() - began


def _apply(database: sqlite3.Connection, add: str, rows: Any) -> None:
    database.execute(BEGIN)
    database.executemany(GO_ON, rows)
    database.executemany(add, rows)
    database.executemany(FORGET, rows)
    database.execute("COMMIT")
