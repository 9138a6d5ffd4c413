"""Finding the database that a URL names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from gatechart.errors import StoreUnreadableError, StoreUrlError
from gatechart.stores.memory import MEMORY_URL
from gatechart.stores.sql.database import Database
from gatechart.stores.sql.sqlite import SqliteFile

FILE: Final = "sqlite+aiosqlite"
SERVER: Final = "postgresql+asyncpg"
_SERVER_PARAMETERS: Final = ("host", "passfile", "ssl", "timeout")


def located(store: str) -> Database:
    """Return the database that a URL names. Raises StoreUrlError, StoreUnreadableError."""
    if store == MEMORY_URL:
        raise StoreUrlError(store, "it keeps nothing")
    try:
        url = make_url(store)
    except (ArgumentError, ValueError):
        raise StoreUrlError(store, "it is no URL") from None
    problem = _server_problem(url) if url.drivername == SERVER else _problem(url)
    if problem:
        raise StoreUrlError(url.render_as_string() if url.drivername == SERVER else store, problem)
    return _located_server(url) if url.drivername == SERVER else _located_file(store, url)


def _located_server(url: URL) -> Database:
    from gatechart.stores.sql.postgres import PostgresDatabase  # noqa: PLC0415  asyncpg may not be installed

    return PostgresDatabase(url)


def _located_file(store: str, url: URL) -> SqliteFile:
    try:
        path = Path(str(url.database)).expanduser().resolve()
        problem = _path_problem(path)
    except RuntimeError as error:  # an unknown home folder, or a circular link
        raise StoreUrlError(store, str(error)) from error
    except OSError as error:
        raise StoreUnreadableError(str(url.database), str(error)) from error
    if problem:
        raise StoreUrlError(store, problem)
    return SqliteFile(url.set(database=str(path)), path)


def _problem(url: URL) -> str:
    """Describe what is wrong with the URL. Empty if nothing is."""
    if url.drivername != FILE:
        return f"{url.drivername!r} is not supported"
    if url.host or url.port or url.username or url.password:
        return "a file has no host, name or password; write three slashes before a relative path"
    if not url.database or url.database == ":memory:":
        return "it names no file"
    if "\0" in url.database:
        return "no file name can have the character NUL"
    return _query_problem(url, ("timeout",))


def _server_problem(url: URL) -> str:
    if find_spec("asyncpg") is None:
        return "it needs the package asyncpg: install gatechart[postgres]"
    if not url.database:
        return "it names no database"
    return _query_problem(url, _SERVER_PARAMETERS)


def _query_problem(url: URL, known: Sequence[str]) -> str:
    unknown = ", ".join(name for name in url.query if name not in known)
    if unknown:
        others = "".join(f"{name}, " for name in known if name != "timeout")
        return f"it has the unknown parameter {unknown}; there is {others}timeout, in seconds"
    return "" if _is_number(url.query.get("timeout", "0")) else "its timeout is not one number of seconds"


def _path_problem(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return f"{path} is a folder" if path.is_dir() else ""


def _is_number(text: object) -> bool:
    return isinstance(text, str) and text.replace(".", "", 1).isdecimal()
