"""What commands that stay have in common: they leave when they are told to."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gatechart.cli.printing import print_hint, print_warning
from gatechart.errors import OwnershipLostError
from gatechart.runtime import Runtime

logger = logging.getLogger(__name__)


@contextmanager
def told_to_go(grace_s: float, more_s: float = 0.0, *, log: bool = False) -> Iterator[asyncio.Event]:
    """An event that is set by the first SIGINT or SIGTERM; a second one does what it does without this.

    grace_s: what is under way gets. more_s: and what else does; a second later the process leaves in any case.
    log: whether it is told in the log, rather than in lines on stderr.
    """
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def go() -> None:
        for each in signals:
            loop.remove_signal_handler(each)
        (logger.warning if log else print_hint)(f"ending; what is under way gets {grace_s:g} s")
        _leave_after(grace_s + more_s + 1, logger.warning if log else print_warning)
        gone.set()

    for each in signals:
        loop.add_signal_handler(each, go)
    try:
        yield gone
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


async def told_or_lost(gone: asyncio.Event, runtime: Runtime) -> OwnershipLostError | None:
    """Returns when the process is told to go; or, with the error, when another runtime has taken the database over."""
    told, lost = asyncio.create_task(gone.wait()), asyncio.create_task(runtime.lost())
    try:
        await asyncio.wait((told, lost), return_when=asyncio.FIRST_COMPLETED)
        return lost.result() if lost.done() else None
    finally:
        told.cancel()
        lost.cancel()


def spare_the_collector() -> None:
    """Lets the garbage collector look less often, and not at the libraries.

    A crowd of turns under way is no garbage, and looking through it every 700 objects is a fifth of all work.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _leave_after(seconds: float, tell: Callable[[str], None]) -> None:
    """Ends the process then, whatever threads and tasks do not end: what they do is begun again next time."""

    def leave() -> None:
        with suppress(OSError):
            tell("left without what does not end; it is begun again next time")
            sys.stdout.flush()
        os._exit(0)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()
