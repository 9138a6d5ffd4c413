"""Notifications for the owner of a database file that another process has written to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import Final

FIRST_NAP_S: Final = 0.01
LONGEST_NAP_S: Final = 0.1
REST_S: Final = 0.2
LOOKS_EVERY: Final = 20  # naps until the owner looks into the database anyway


class FileNotifier:
    """A notifier that reports when the database file may have changed.

    SQLite sends no notifications, so this watches the log beside the database, where every writer writes. Checking the
    file costs microseconds, and querying the database a hundred times as much. Checks are frequent after a request, and
    up to `LONGEST_NAP_S` apart when there are none. An owner that writes all the time itself queries the database every
    `REST_S`.
    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._seen: tuple[int, int] | None = None
        self._nap_s = FIRST_NAP_S
        self._notified = 0.0  # last report, in monotonic time

    def listen(self) -> None:
        """Check often again, because whoever made a request often makes more."""
        self._nap_s = FIRST_NAP_S

    async def notified(self) -> None:
        """Wait until the database may have changed, or about two seconds have passed."""
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
        except OSError:  # no log, so nobody has written
            return None
        return found.st_mtime_ns, found.st_size
