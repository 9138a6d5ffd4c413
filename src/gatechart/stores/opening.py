"""Open a store by its URL.

SQLAlchemy takes half of gatechart's import time, so it is imported with the first database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from gatechart.errors.event import PayloadError
from gatechart.errors.outside import StoreUrlError
from gatechart.ports import Asking, SignsOfLife, Store
from gatechart.stores.memory import MEMORY_URL, MemoryStore
from gatechart.values.homes import Role
from gatechart.values.names import DEFAULT_URL

_CLAIMS: Final = {Role.TAKE_OVER: "TAKE_OVER", Role.STANDBY: "STANDBY"}  # by name, as their module imports SQLAlchemy


def checked_role(call: str, role: Role | str) -> Role:
    """Return the role. Raises PayloadError if it is unknown."""
    try:
        return Role(role)
    except ValueError:
        known = ", ".join(repr(known.value) for known in Role)
        raise PayloadError(call, (f"unknown role {role!r}",), f"one of {known}") from None


@asynccontextmanager
async def open_store(store: str | Store = DEFAULT_URL, *, role: Role | str = Role.OWNER) -> AsyncIterator[Store]:
    """Open the store at a URL; yields an open store unchanged. Raises StoreUrlError, and as `Runtime.open` does."""
    role = checked_role("open_store", role)
    if not isinstance(store, str):
        if not callable(getattr(store, "commit", None)):
            raise StoreUrlError(str(store), f"it is a {type(store).__name__}, neither a URL nor a store")
        yield store
    elif store == MEMORY_URL:
        yield MemoryStore()
    else:
        from gatechart.stores.sql.opening import open_database  # noqa: PLC0415
        from gatechart.stores.sql.ownership import Claim  # noqa: PLC0415

        claim = _CLAIMS.get(role, Claim.REFUSED.name)
        async with open_database(store, read_only=role is Role.READER, claim=Claim[claim]) as opened:
            yield opened


@asynccontextmanager
async def open_asking(store: str | Store) -> AsyncIterator[Asking]:
    """Open the requests to the owner of a database. Raises as `open_store` does for a reader.

    store: a URL, or the store of an owner in this process, if it accepts requests. Raises StoreUrlError if the store
    takes no requests.
    """
    if not isinstance(store, str):
        asking: Any = getattr(store, "requests", None)
        if not callable(getattr(asking, "ask", None)):
            raise StoreUrlError(str(store), f"it is a {type(store).__name__}, which takes no requests")
        yield asking
        return
    from gatechart.stores.sql.opening import open_database_to_ask  # noqa: PLC0415

    async with open_database_to_ask(store) as opened:
        yield opened


@asynccontextmanager
async def open_signs_of_life(url: str) -> AsyncIterator[SignsOfLife]:
    """Open the host records of a database, for a process that does not own it. Raises as `open_asking` does."""
    from gatechart.stores.sql.opening import open_database_to_ask  # noqa: PLC0415

    async with open_database_to_ask(url) as opened:
        yield opened


@asynccontextmanager
async def open_departing(store: str, to: str) -> AsyncIterator[Any]:
    """Open the `SqlStore` at a URL as its owner, even if its agents have moved to `to`. Raises as `Runtime.open` does.

    Raises StoreMissingError, StoreOwnedError, and StoreMovedError if they have moved to another home.
    """
    from gatechart.stores.sql.opening import open_database_to_move  # noqa: PLC0415

    async with open_database_to_move(store, to) as opened:
        yield opened


async def upgrade_store(url: str) -> tuple[str | None, str]:
    """Upgrade the database to the newest schema. Return the schema before (None if it was empty) and after.

    Raises StoreMissingError, SchemaTooNewError, and StoreOwnedError while a runtime has the database open. Raises as
    `Runtime.open` does, too.
    """
    from gatechart.stores.sql.opening import upgrade_database  # noqa: PLC0415

    return await upgrade_database(url)
