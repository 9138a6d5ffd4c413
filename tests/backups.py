"""Backups by the databases' own means, taken while a runtime is open."""

import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SqliteBackup:
    """A database in a file, and the URL of the one that its backup is restored to."""

    path: Path

    @property
    def restored(self):
        return self.path.with_name("restored.db")

    @property
    def url(self):
        return _sqlite(self.path)

    @property
    def restored_url(self):
        return _sqlite(self.restored)

    def take(self):
        """Take a backup of what is there now, and restore it."""
        with closing(sqlite3.connect(self.path)) as used, closing(sqlite3.connect(self.restored)) as restored:
            used.backup(restored)


@dataclass(frozen=True)
class PostgresBackup:
    """A database on a server, and the URL of the empty one that its backup is restored to."""

    url: str
    restored_url: str

    def take(self):
        """Take a backup of what is there now, and restore it."""
        dump = _ran("pg_dump", _plain(self.url))
        _ran("psql", "-q", "-v", "ON_ERROR_STOP=1", _plain(self.restored_url), text=dump)


def _sqlite(path):
    return f"sqlite+aiosqlite:///{path}"


def _plain(url):
    """The URL as PostgreSQL's own programs read it."""
    return url.replace("postgresql+asyncpg", "postgresql")


def _ran(*command, text=None):
    """What a program prints, which must succeed."""
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout
