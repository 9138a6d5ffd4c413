"""From a URL to an open store.

SQLAlchemy takes half of the time in which gatechart is imported, so it is imported with the first database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from gatechart.errors import PayloadError, StoreUrlError
from gatechart.ports import Asking, Store
from gatechart.stores.memory import MemoryStore

DEFAULT_URL: Final = "sqlite+aiosqlite:///agents.db"
MEMORY_URL: Final = "memory:"


_ROLES: Final = {
    "standby": "standby=True waits for the owner's end and hosts then",
    "take_over": "take_over=True hosts in spite of the owner",
    "attend": "attend=False owns the store for a moment and hosts nothing",
    "read_only": "read_only=True only reads, beside any owner",
}


def check_roles(call: str, *, standby: bool, take_over: bool, read_only: bool, attend: bool = True) -> None:
    """Raises PayloadError where what is opened is to be two things at once; each of the flags is a role of its own."""
    flags = {"standby": standby, "take_over": take_over, "attend": not attend, "read_only": read_only}
    chosen = [_ROLES[flag] for flag, is_chosen in flags.items() if is_chosen]
    if len(chosen) > 1:
        names = [role.partition(" ")[0] for role in chosen]
        problem = f"{', '.join(names[:-1])} and {names[-1]} contradict each other"
        raise PayloadError(call, (problem,), f"at most one of them; {', '.join(chosen)}")


@asynccontextmanager
async def open_store(
    store: str | Store = DEFAULT_URL, *, read_only: bool = False, standby: bool = False, take_over: bool = False
) -> AsyncIterator[Store]:
    """The store that a URL names, open; a store is passed on as it is. Raises StoreUrlError, and as `Runtime.open`.

    standby, take_over: as of `Runtime.open`.
    """
    check_roles("open_store", standby=standby, take_over=take_over, read_only=read_only)
    if not isinstance(store, str):
        if not callable(getattr(store, "commit", None)):
            raise StoreUrlError(str(store), f"it is a {type(store).__name__}, neither a URL nor a store")
        yield store
    elif store == MEMORY_URL:
        yield MemoryStore()
    else:
        from gatechart.stores.sql.claims import Claim  # noqa: PLC0415
        from gatechart.stores.sql.databases import open_database  # noqa: PLC0415

        claim = Claim.TAKE_OVER if take_over else Claim.STANDBY if standby else Claim.REFUSED
        async with open_database(store, read_only=read_only, claim=claim) as opened:
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
