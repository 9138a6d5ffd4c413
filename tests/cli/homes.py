"""The databases in which the command keeps agents: a file, or one of a server."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pytest

from tests.homes import POSTGRESQL

on_both = pytest.mark.parametrize("home", ["sqlite", POSTGRESQL], indirect=True)  # where the database matters


@dataclass(frozen=True)
class Home:
    """Where agents are kept."""

    store: str  # as the command names it
    named: str  # as messages name it, in the end
    ask: Callable[[str], list[tuple]]  # the rows of a statement
    is_there: Callable[[], bool]

    @property
    def is_file(self):
        return self.store.startswith("sqlite")


def file_of(path):
    """A file of the working directory, which is where the command looks if nothing else is said."""

    def ask(sql):
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()

    return Home(f"sqlite+aiosqlite:///{path.name}", path.name, ask, path.exists)


def server_of(server, url):
    """A database of a server."""
    return Home(url, url, lambda sql: server.ask(sql, database=url.rpartition("/")[2]), lambda: True)
