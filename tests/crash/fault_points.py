"""Named points at which code touches the database, where a process can kill itself.

`main(url, folder, point, count, seed, agents, errands)` runs a crew (see crew.py) in a process from the forks, and
dies at the COUNT-th time that it comes to POINT. With "nowhere" it lives, and leaves in FOLDER/points.json how often it
came where.
"""

import asyncio
import json
import os
import re
import signal
import sqlite3
from collections import Counter
from functools import partial
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection, AsyncAdapt_asyncpg_cursor

from gatechart.stores.sql import sqlite

TABLE = re.compile(r"\b(?:INTO|UPDATE|FROM|TABLE|INDEX|ON)\s+(?:IF NOT EXISTS\s+)?\"?(\w+)", re.IGNORECASE)


class FaultPoints:
    """Counts how often each point is passed, and kills the process at one of them."""

    def __init__(self, point="nowhere", count=0):
        self.point, self.count = point, count
        self.passed = Counter()

    def pass_by(self, point):
        self.passed[point] += 1
        if point == self.point and self.passed[point] == self.count:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, engine, prefix=""):
        """Has every statement, commit and rollback of the engine pass by, before and after it is carried out."""
        if prefix:
            self._watch_statements(engine, prefix)
            for name in ("do_commit", "do_rollback"):
                setattr(engine.dialect, name, self._around(name[3:].upper(), prefix, getattr(engine.dialect, name)))
        else:
            self._watch_driver(engine)
        return engine

    def _watch_statements(self, engine, prefix):
        @event.listens_for(engine, "before_cursor_execute")
        def before(_connection, _cursor, statement, *_):
            self.pass_by(f"before {prefix}{named(statement)}")

        @event.listens_for(engine, "after_cursor_execute")
        def after(_connection, _cursor, statement, *_):
            self.pass_by(f"after {prefix}{named(statement)}")

    def _watch_driver(self, engine):
        """Where statements and transactions go to the driver itself, past SQLAlchemy."""
        points = self

        class Cursor(sqlite3.Cursor):
            def execute(self, statement, *values):
                return points.pass_around(statement, super().execute, *values)

            def executemany(self, statement, *values):
                return points.pass_around(statement, super().executemany, *values)

        class Connection(sqlite3.Connection):
            def cursor(self):
                return super().cursor(Cursor)

            def commit(self):
                self._end("COMMIT", super().commit)

            def rollback(self):
                self._end("ROLLBACK", super().rollback)

            def _end(self, verb, end):
                points._around(verb, "", end)() if self.in_transaction else end()

        @event.listens_for(engine, "do_connect")
        def connect(_dialect, _record, _arguments, options):
            options["factory"] = Connection

    def pass_around(self, statement, execute, *values):
        """Has a statement pass by, before and after."""
        self.pass_by(f"before {named(statement)}")
        result = execute(statement, *values)
        self.pass_by(f"after {named(statement)}")
        return result

    def _around(self, verb, prefix, call):
        def passed_by(*arguments):
            self.pass_by(f"before {prefix}{verb}")
            call(*arguments)
            self.pass_by(f"after {prefix}{verb}")

        return passed_by

    def install(self):
        """Watches the engines of all stores that this process opens from now on."""
        self._install_on_servers()
        writing, reading = sqlite.writing_engine, sqlite.reading_engine
        sqlite.writing_engine = lambda url: self.watch(writing(url))

        def watched_reader(url):
            engine = reading(url)
            self.watch(engine.sync_engine, "reading ")
            return engine

        sqlite.reading_engine = watched_reader

    def _install_on_servers(self):
        """Watches all cursors and connections to PostgreSQL, those that read among them."""
        points, execute = self, AsyncAdapt_asyncpg_cursor.execute

        def watched(cursor, statement, parameters=None):
            return points.pass_around(statement, partial(execute, cursor), parameters)

        AsyncAdapt_asyncpg_cursor.execute = watched
        for name in ("commit", "rollback"):
            call = getattr(AsyncAdapt_asyncpg_connection, name)
            setattr(AsyncAdapt_asyncpg_connection, name, self._around(name.upper(), "", call))


def named(statement):
    """The verb and the table of a statement.

    >>> named("INSERT INTO mail (number) VALUES (?)"), named("BEGIN IMMEDIATE")
    ('INSERT mail', 'BEGIN')
    """
    verb = statement.split(None, 1)[0].upper()
    table = TABLE.search(statement)
    return f"{verb} {table[1]}" if table and verb not in ("BEGIN", "PRAGMA") else verb


async def _live(url, folder, seed, agents, count):
    from tests.crash import crew
    from tests.crash.crew import Journal, errands

    await crew.main(url, Journal(folder / "journal"), list(errands(seed, agents, count)))


def main(url, folder, point, *numbers):
    nth, seed, agents, count = map(int, numbers)
    points = FaultPoints(point, nth)
    points.install()
    asyncio.run(_live(url, Path(folder), seed, agents, count))
    Path(folder, "points.json").write_text(json.dumps(points.passed))
