"""From a URL to an open store.

SQLAlchemy takes half of the time in which gatechart is imported, so it is imported with the first database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from gatechart.errors import PayloadError, StoreUrlError
from gatechart.ports import Asking, Store
from gatechart.stores.memory import MEMORY_URL, MemoryStore
from gatechart.values import Role

DEFAULT_URL: Final = "sqlite+aiosqlite:///agents.db"

_CLAIMS: Final = {Role.TAKE_OVER: "TAKE_OVER", Role.STANDBY: "STANDBY"}  # names, as their module imports SQLAlchemy


def checked_role(call: str, role: Role | str) -> Role:
    """Return the role. Raises PayloadError if it is unknown."""
    try:
        return Role(role)
    except ValueError:
        known = ", ".join(repr(each.value) for each in Role)
        raise PayloadError(call, (f"unknown role {role!r}",), f"one of {known}") from None


@asynccontextmanager
async def open_store(store: str | Store = DEFAULT_URL, *, role: Role | str = Role.OWNER) -> AsyncIterator[Store]:
    """Open the store that a URL names; pass on a store as it is. Raises StoreUrlError, and as `Runtime.open`."""
    role = checked_role("open_store", role)
    if not isinstance(store, str):
        if not callable(getattr(store, "commit", None)):
            raise StoreUrlError(str(store), f"it is a {type(store).__name__}, neither a URL nor a store")
        yield store
    elif store == MEMORY_URL:
        yield MemoryStore()
    else:
        from gatechart.stores.sql.databases import open_database  # noqa: PLC0415
        from gatechart.stores.sql.ownership import Claim  # noqa: PLC0415

        claim = _CLAIMS.get(role, Claim.REFUSED.name)
        async with open_database(store, read_only=role is Role.READER, claim=Claim[claim]) as opened:
            yield opened


@asynccontextmanager
async def open_asking(store: str | Store) -> AsyncIterator[Asking]:
    """How to ask something of the owner of a database, open. Raises as `open_store` for one that is only read.

    store: a URL, or the store that the owner holds, where that lets itself be asked. Raises StoreUrlError where nobody
    can ask there.
    """
    if not isinstance(store, str):
        asking: Any = getattr(store, "requests", None)
        if not callable(getattr(asking, "ask", None)):
            raise StoreUrlError(str(store), f"it is a {type(store).__name__}, which cannot be asked anything")
        yield asking
        return
    from gatechart.stores.sql.databases import open_database_to_ask  # noqa: PLC0415

    async with open_database_to_ask(store) as opened:
        yield opened


@asynccontextmanager
async def open_departing(store: str, to: str) -> AsyncIterator[Any]:
    """The `SqlStore` of a URL, owned, though its agents may have moved to `to`. Raises as `Runtime.open`.

    Raises StoreMissingError, StoreOwnedError, and StoreMovedError where they have moved elsewhere.
    """
    from gatechart.stores.sql.databases import open_database_to_move  # noqa: PLC0415

    async with open_database_to_move(store, to) as opened:
        yield opened


async def upgrade_store(url: str) -> tuple[str | None, str]:
    """Brings the database to the newest schema; returns the schema before (None where it was empty) and after.

    Raises StoreMissingError, StoreOwnedError while a runtime has it open, SchemaTooNewError, and as `Runtime.open`.
    """
    from gatechart.stores.sql.databases import upgrade_database  # noqa: PLC0415

    return await upgrade_database(url)
