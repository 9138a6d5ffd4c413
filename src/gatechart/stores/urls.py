"""Which store a URL names."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from gatechart.errors import StoreUnreadableError, StoreUrlError
from gatechart.stores.opening import MEMORY_URL


def located_file(store: str) -> tuple[URL, Path]:
    """The URL of a database file with its absolute path, and the path. Raises StoreUrlError, StoreUnreadableError."""
    if store == MEMORY_URL:
        raise StoreUrlError(store, "it keeps nothing")
    try:
        url = make_url(store)
    except (ArgumentError, ValueError):
        raise StoreUrlError(store, "it is no URL") from None
    problem = _problem(url)
    if problem:
        raise StoreUrlError(store, problem)
    try:
        path = Path(str(url.database)).expanduser().resolve()
        problem = _path_problem(path)
    except RuntimeError as error:  # no such home, or a link that leads to itself
        raise StoreUrlError(store, str(error)) from error
    except OSError as error:
        raise StoreUnreadableError(str(url.database), str(error)) from error
    if problem:
        raise StoreUrlError(store, problem)
    return url.set(database=str(path)), path


def _problem(url: URL) -> str:
    """What is wrong with the URL; empty where nothing is."""
    if url.drivername != "sqlite+aiosqlite":
        return f"{url.drivername!r} is not supported"
    if url.host or url.port or url.username or url.password:
        return "a file has no host, name or password; write three slashes before a relative path"
    if not url.database or url.database == ":memory:":
        return "it names no file"
    if "\0" in url.database:
        return "no file name can have the character NUL"
    unknown = ", ".join(name for name in url.query if name != "timeout")
    if unknown:
        return f"it has the unknown parameter {unknown}; there is timeout, in seconds"
    return "" if _is_number(url.query.get("timeout", "0")) else "its timeout is not one number of seconds"


def _path_problem(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return f"{path} is a folder" if path.is_dir() else ""


def _is_number(text: object) -> bool:
    return isinstance(text, str) and text.replace(".", "", 1).isdecimal()
