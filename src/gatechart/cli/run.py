"""What commands that stay have in common: they leave when they are told to."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Annotated, Final

import typer

from gatechart.cli.agent_views import entry_document
from gatechart.cli.apps import load_graphs, newest
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.hosting import host
from gatechart.cli.options import Settings, seconds_option
from gatechart.cli.output import print_hint, print_json_line, print_line, print_warning
from gatechart.drawing.text import visible
from gatechart.errors import FeedLaggedError, OwnershipLostError, RuntimeClosedError
from gatechart.hosting.subscriptions import Subscription
from gatechart.hosting.system import SystemClock
from gatechart.runtime import Limits, Runtime
from gatechart.values import HistoryEntry, Role

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
    told, lost = asyncio.create_task(gone.wait()), asyncio.create_task(runtime.ownership_lost())
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


WatchOption = Annotated[
    bool, typer.Option("--watch", "-w", metavar="", help="Print each turn as it is committed, a line for each.")
]
OnceOption = Annotated[
    bool, typer.Option("--once", metavar="", help="Leave when all that is to be done now has been done.")
]
GraceOption = Annotated[float, seconds_option("--grace", 0.1, "How long turns and invokes under way get to end.")]
StandbyOption = Annotated[
    bool, typer.Option("--standby", metavar="", help="Where another process owns the store, wait for its end.")
]
TakeOverOption = Annotated[
    bool, typer.Option("--take-over", metavar="", help="Own the store in spite of another process, which is frozen.")
]
_LOOKS_S: Final = 0.02  # between two looks whether something is under way
_LOOKS: Final = 3  # in a row that must find nothing


async def run_agents(
    settings: Settings,
    watch: WatchOption = False,
    once: OnceOption = False,
    grace: GraceOption = 10.0,
    standby: StandbyOption = False,
    take_over: TakeOverOption = False,
) -> ExitCode | None:
    """Host the agents of the app: deliver mail, fire timers, run what states invoke.

    It goes on with what was accepted and not finished before, and stays until Ctrl-C or SIGTERM. Then turns and invokes
    under way get some seconds to end, and the rest is kept for the next time; a second Ctrl-C does not wait. Meanwhile
    other commands can read the database, and have it start agents, send events, hand work on and work at the desk.

    With --once it leaves as soon as there is nothing left to do but to wait for the clock, as suits a cron job. With
    --watch and --json, each line is one JSON document.

    Mail whose every attempt fails is dead. Where an agent may wait for it, that is told as an error, and the exit code
    is 1 in the end; `gatechart show` and `gatechart mail` tell more.

    One process owns the store. With --standby another waits, and takes over within two seconds of the owner's end; with
    --take-over it does not wait: what an owner that is frozen does when it wakes up is not written any more.

    Examples:
      gatechart run
      gatechart run --standby
      gatechart run --watch
      gatechart run --once
      gatechart run --services myapp:open_services --grace 60
    """
    role = _role(standby=standby, take_over=take_over)
    spare_the_collector()
    graphs = load_graphs(settings.app)
    clock = _CountingClock()
    with told_to_go(grace) as gone:
        opening = host(settings, graphs, clock, Limits(close_s=grace), role=role)
        if standby:
            print_hint(f"standing by for {settings.store}")
        async with _unless(gone, opening) as runtime, runtime.changes() as changes:
            if not once:
                names = ", ".join(graph.name for graph in newest(graphs))
                print_hint(f"hosting agents of {names} in {settings.store}; Ctrl-C ends it")
            tasks: list[asyncio.Task[OwnershipLostError | None]] = [asyncio.create_task(told_or_lost(gone, runtime))]
            if once:
                tasks.append(asyncio.create_task(_idle(runtime, clock)))
            if watch:
                tasks.append(asyncio.create_task(_tell(settings, changes)))
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (lost := task.result()) is not None:
                        raise lost
            finally:
                for task in tasks:
                    task.cancel()
    return _told_of(runtime.dead_letters)


def _told_of(dead_letters: int) -> ExitCode | None:
    """The exit code, with a warning beside it, where mail has died that agents may wait for."""
    if not dead_letters:
        return None
    letters = "a letter is" if dead_letters == 1 else f"{dead_letters} letters are"
    print_warning(f"{letters} dead that agents may wait for; see `gatechart mail --status dead`")
    return ExitCode.REFUSED


def _role(*, standby: bool, take_over: bool) -> Role:
    if standby and take_over:
        raise UsageError(
            "--standby and --take-over contradict each other: use --standby to wait for the owner's end, or "
            "--take-over to host in spite of it"
        )
    return Role.STANDBY if standby else Role.TAKE_OVER if take_over else Role.OWNER


@asynccontextmanager
async def _unless(gone: asyncio.Event, opening: AbstractAsyncContextManager[Runtime]) -> AsyncIterator[Runtime]:
    """What is opened, however long that takes. Raises KeyboardInterrupt where the process is told to go before."""
    task = asyncio.current_task()
    assert task is not None

    async def give_up() -> None:
        await gone.wait()
        task.cancel()

    giving_up = asyncio.create_task(give_up())
    try:
        async with opening as runtime:
            giving_up.cancel()
            yield runtime
    except asyncio.CancelledError:
        if giving_up.cancelled() or not giving_up.done():
            raise
        raise KeyboardInterrupt from None
    finally:
        giving_up.cancel()


class _CountingClock(SystemClock):
    """The machine's clock, which knows how many wait for it."""

    def __init__(self) -> None:
        self.sleeping = 0

    async def sleep_until(self, moment: datetime) -> None:
        """See Clock."""
        self.sleeping += 1
        try:
            await super().sleep_until(moment)
        finally:
            self.sleeping -= 1


async def _idle(runtime: Runtime, clock: _CountingClock) -> None:
    """Returns when all that is under way waits for the clock."""
    found = 0
    while found < _LOOKS:
        await asyncio.sleep(_LOOKS_S)
        found = found + 1 if runtime.pending_work <= clock.sleeping else 0


async def _tell(settings: Settings, changes: Subscription[HistoryEntry]) -> None:
    """Prints turns as they are committed."""
    while True:
        try:
            entry = await anext(changes)
        except FeedLaggedError as error:
            print_warning(f"{error.lost} turns were committed too fast to be told")
        except RuntimeClosedError:
            return
        else:
            _print(settings, entry)


def _print(settings: Settings, entry: HistoryEntry) -> None:
    if settings.json:
        print_json_line({"agent_id": entry.agent_id, **entry_document(entry)})
    else:
        moved = "" if entry.source == entry.target else f" → {', '.join(entry.target)}"
        line = f"{entry.agent_id} {entry.version}  {entry.event.name}{moved}"
        print_line(f"{entry.event.time:%H:%M:%S}  {visible(line)}")
    sys.stdout.flush()
