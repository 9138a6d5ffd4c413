"""The lock of a PostgreSQL database's owner: an advisory one, which dies with the session that holds it."""

from __future__ import annotations

import asyncio
from typing import Final

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

LOCK: Final = 0x6761_7465_6368_6172  # "gatechar"; of one database, as all advisory locks
TAKE: Final = text(f"SELECT pg_try_advisory_lock({LOCK})")
HOLDER: Final = f"""
FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
) AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFF_FFFF} AND objsubid = 1
"""
END_HOLDER: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER}")
END_OWN: Final = text(f"SELECT pg_terminate_backend(pid) {HOLDER} AND pid = :pid")
LOOKS: Final = 500  # for a lock whose holder's session was told to end
LOOK_S: Final = 0.01


async def tried(connection: AsyncConnection, end: TextClause | None, pid: int | None) -> bool:
    """Whether the connection holds the lock now.

    end: whose session may be ended for it: whoever's holds it, or this runtime's own before, the server's process pid.
    """
    taken: bool = (await connection.execute(TAKE)).scalar_one()
    for _ in range(LOOKS):
        if taken or end is None:
            break
        ended = (await connection.execute(end, {"pid": pid} if end is END_OWN else {})).all()
        taken = (await connection.execute(TAKE)).scalar_one()
        if not ended and end is END_OWN:  # it is not this runtime's
            break
        await asyncio.sleep(0 if taken else LOOK_S)
    return taken
