"""Tells the owner of a database file that somebody else has written into it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import Final

FIRST_NAP_S: Final = 0.01
LONGEST_NAP_S: Final = 0.1
REST_S: Final = 0.2
LOOKS_EVERY: Final = 20  # naps: then it looks into the database, whatever the file says


class FileNotifier:
    """Tells when the database may have changed.

    SQLite tells nobody, so it looks at the log beside the database: whoever writes, writes there. A look at the file
    costs microseconds, one into the database a hundred times that. Looks come quickly after something was asked, and
    up to `LONGEST_NAP_S` apart when nothing is. An owner that itself writes all the time looks into the database
    every `REST_S`.
    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._seen: tuple[int, int] | None = None
        self._nap_s = FIRST_NAP_S
        self._notified = 0.0  # when it did last, as monotonic time

    def listen(self) -> None:
        """Looks often again, for who has asked asks more."""
        self._nap_s = FIRST_NAP_S

    async def notified(self) -> None:
        """Returns when the database may have changed, or after two seconds."""
        for _ in range(LOOKS_EVERY):
            await asyncio.sleep(self._nap_s)
            self._nap_s = min(self._nap_s * 1.5, LONGEST_NAP_S)
            seen, now = self._look(), monotonic()
            if seen != self._seen and now - self._notified >= min(self._nap_s * 2, REST_S):
                self._seen, self._notified = seen, now
                return

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._log.stat()
        except OSError:  # there is no log, so nobody has written
            return None
        return found.st_mtime_ns, found.st_size
