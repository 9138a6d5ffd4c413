"""The commands that host agents and follow their turns, and the shutdown of commands that keep running."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.completion import complete_agents
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import Settings, duration_option, read_duration
from gatechart.cli.output import clock_text, emit, print_hint, print_json_line, print_line, print_warning
from gatechart.cli.watching import AlertsFileOption, WatchdogOption, watching_of
from gatechart.errors.operation import FeedLaggedError, RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError
from gatechart.hosting.system import SystemClock
from gatechart.tasks import start_task
from gatechart.values.agents import Snapshot
from gatechart.values.homes import Role
from gatechart.values.queries import HistoryEntry, Query

if TYPE_CHECKING:
    from gatechart import runtime as runtime_package
    from gatechart import stores
    from gatechart.cli import agent_views, connection, loading
    from gatechart.drawing import text as drawing_text
    from gatechart.hosting.retention import Retention
    from gatechart.hosting.subscriptions import Subscription
    from gatechart.ports import Store
    from gatechart.runtime.runtime import Runtime
else:
    agent_views, connection, loading, drawing_text, runtime_package, stores = late(
        "gatechart.cli.agent_views",
        "gatechart.cli.connection",
        "gatechart.cli.loading",
        "gatechart.drawing.text",
        "gatechart.runtime",
        "gatechart.stores",
    )

logger = logging.getLogger(__name__)


@contextmanager
def told_to_go(grace_s: float, more_s: float = 0.0, *, log: bool = False) -> Iterator[asyncio.Event]:
    """Set an event on the first SIGINT or SIGTERM; the second signal has its usual effect.

    grace_s: how long running turns and invokes get. more_s: further time for the rest; a second after both, the process
    exits in any case. log: report in the log rather than on stderr.
    """
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def go() -> None:
        for signum in signals:
            loop.remove_signal_handler(signum)
        (logger.warning if log else print_hint)(f"stopping; running turns and invokes get {grace_s:g} s")
        _exit_after(grace_s + more_s + 1, logger.warning if log else print_warning)
        stopping.set()

    for signum in signals:
        loop.add_signal_handler(signum, go)
    try:
        yield stopping
    finally:
        for signum in signals:
            loop.remove_signal_handler(signum)


async def told_or_lost(stopping: asyncio.Event, runtime: Runtime) -> OwnershipLostError | None:
    """Wait until the process must stop, or another runtime takes over; in that case, return the error."""
    stop_task, takeover_task = start_task(stopping.wait()), start_task(runtime.ownership_lost())
    try:
        await asyncio.wait((stop_task, takeover_task), return_when=asyncio.FIRST_COMPLETED)
        return takeover_task.result() if takeover_task.done() else None
    finally:
        stop_task.cancel()
        takeover_task.cancel()


def spare_the_collector() -> None:
    """Make the garbage collector run less often, and skip the libraries.

    Many running turns are not garbage, and scanning them every 700 objects costs a fifth of all work.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _exit_after(seconds: float, report: Callable[[str], None]) -> None:
    """Exit the process after a time, even if threads and tasks do not end; unfinished work starts again next time."""

    def leave() -> None:
        with suppress(OSError):
            report("stopped without waiting any longer; unfinished work starts again next time")
            sys.stdout.flush()
        os._exit(0)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Print each turn as it is committed, one per line.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Exit once there is nothing left to do now.")]
GraceOption = Annotated[
    float, duration_option("--grace", 0.1, "How long running turns and invokes may take to finish after a stop.")
]
StandbyOption = Annotated[
    bool, typer.Option("--standby", help="If another process owns the store, wait until it ends.")
]
PruneOption = Annotated[
    str | None,
    typer.Option(
        "--prune",
        metavar="AGE",
        help="Delete ended agents, turns of active agents, and refused and dead mail that are older than this.",
        show_default=False,
    ),
]
KeepTurnsOption = Annotated[
    int | None,
    typer.Option(
        "--keep-turns", min=1, metavar="NUMBER", help="Keep at most this many turns of each agent.", show_default=False
    ),
]
IdsOption = Annotated[
    str | None,
    typer.Option(
        "--ids-for",
        metavar="DURATION",
        help="How long a repeated event id is recognised, with --prune or --keep-turns. Default: 7d.",
        show_default=False,
    ),
]
TakeOverOption = Annotated[bool, typer.Option("--take-over", help="Take over the store from a frozen owner.")]
_POLL_S: Final = 0.02  # between two checks for running work
_QUIET_POLLS: Final = 3  # checks in a row that must find no work


async def run_agents(
    settings: Settings,
    watch: WatchOption = False,
    once: OnceOption = False,
    grace: GraceOption = 10.0,
    standby: StandbyOption = False,
    take_over: TakeOverOption = False,
    prune: PruneOption = None,
    keep_turns: KeepTurnsOption = None,
    ids_for: IdsOption = None,
    alerts_file: AlertsFileOption = None,
    watchdog: WatchdogOption = None,
) -> ExitCode | None:
    """Host the agents of the app: deliver mail, fire timers and run invokes.

    The host continues where the last one stopped, and runs until Ctrl-C or SIGTERM. Running turns and invokes then get
    --grace seconds to finish; the rest is durable and continues with the next host. A second Ctrl-C does not wait.
    While a host is running, other commands can read the database, and send their changes to the host.

    With --once, the host exits as soon as all remaining work waits for the clock, as a cron job needs, and prints the
    number of turns and agents. With --watch and --json, each line is a JSON document.

    Mail that fails at every attempt is dead. If an agent may be waiting for dead mail, the command warns and the exit
    code is 1; see `gatechart show` and `gatechart mail`.

    One process owns the store. With --standby, this one waits and takes over within two seconds after the owner ends.
    With --take-over, it takes over at once; a frozen owner can no longer write when it wakes up.

    With --prune or --keep-turns, the host deletes old data when it starts and every hour. With --watchdog, it looks for
    problems, and reports them to the sinks of --alerts-file.

    Examples:
      gatechart run
      gatechart run --watchdog 1m --alerts-file alerts.toml
      gatechart run --prune 90d --keep-turns 1000
      gatechart run --standby
      gatechart run --watch
      gatechart run --once
      gatechart run --services myapp:open_services --grace 60
      gatechart run --choosing myapp:choosing
    """
    role, retention = _role(standby=standby, take_over=take_over), retention_of(prune, keep_turns, ids_for)
    watching = watching_of(alerts_file, watchdog)
    spare_the_collector()
    graphs = loading.load_graphs(settings)
    clock = _CountingClock()
    with told_to_go(grace) as stopping:
        limits = runtime_package.Limits(close_s=grace)
        opening = connection.open_host(
            settings, graphs, clock, limits, role=role, retention=retention, watching=watching
        )
        if standby:
            print_hint(f"standing by for {settings.store}")
        async with _open_unless_stopped(stopping, opening) as runtime, runtime.changes() as changes:
            if not once:
                names = ", ".join(graph.name for graph in loading.newest(graphs))
                print_hint(f"hosting agents of {names} in {settings.store}; stop with Ctrl-C")
            tasks: list[asyncio.Task[OwnershipLostError | None]] = [start_task(told_or_lost(stopping, runtime))]
            if once:
                tasks.append(start_task(_idle(runtime, clock)))
            turns: Counter[str] = Counter()
            tasks.append(start_task(_count_turns(settings, changes, turns, prints=watch)))
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (lost := task.result()) is not None:
                        raise lost
            finally:
                for task in tasks:
                    task.cancel()
    if once and not watch:
        emit(settings, {"turns": turns.total(), "agents": _agents(turns)}, _tally_text(turns))
    return _warn_of_dead_mail(runtime.dead_letters)


def _agents(turns: Counter[str]) -> int:
    return sum(1 for agent in turns if agent)  # missed turns are counted under the empty id


def _tally_text(turns: Counter[str]) -> str:
    count, agents = turns.total(), _agents(turns)
    return f"{count:,} turn{'s' * (count != 1)} of {agents:,} agent{'s' * (agents != 1)}" if count else "nothing to do"


def _warn_of_dead_mail(dead_letters: int) -> ExitCode | None:
    """Warn and return the exit code if agents may be waiting for dead mail."""
    if not dead_letters:
        return None
    print_warning(
        f"agents may be waiting for dead mail ({dead_letters}); see `gatechart mail --status dead --framework`"
    )
    return ExitCode.REFUSED


def retention_of(prune: str | None, keep_turns: int | None, ids_for: str | None) -> Retention | None:
    """Return the retention policy of a host; None to keep everything. Raises UsageError."""
    if prune is None and keep_turns is None:
        if ids_for is not None:
            raise UsageError(
                "--ids-for has no effect, because nothing is deleted; add --prune AGE or "
                "--keep-turns NUMBER, or leave out --ids-for: then every id is recognised"
            )
        return None
    age = None if prune is None else read_duration("--prune", prune)
    return runtime_package.Retention(
        ended_before=age,
        turns_before=age,
        keep_turns=keep_turns,
        mail_before=age,
        ids_for=read_duration("--ids-for", "7d" if ids_for is None else ids_for),
    )


def _role(*, standby: bool, take_over: bool) -> Role:
    if standby and take_over:
        raise UsageError(
            "--standby and --take-over contradict each other; use --standby to wait until the owner ends, or "
            "--take-over to replace an owner that has frozen"
        )
    return Role.STANDBY if standby else Role.TAKE_OVER if take_over else Role.OWNER


@asynccontextmanager
async def _open_unless_stopped(
    stopping: asyncio.Event, opening: AbstractAsyncContextManager[Runtime]
) -> AsyncIterator[Runtime]:
    """Open a runtime, however long that takes. Raises KeyboardInterrupt if the process must stop before."""
    task = asyncio.current_task()
    assert task is not None

    async def give_up() -> None:
        await stopping.wait()
        task.cancel()

    giving_up = start_task(give_up())
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
    """The system clock, with a count of its sleepers."""

    def __init__(self) -> None:
        self.sleeping = 0

    async def sleep_until(self, moment: datetime) -> None:
        """Sleep, and count as a sleeper meanwhile."""
        self.sleeping += 1
        try:
            await super().sleep_until(moment)
        finally:
            self.sleeping -= 1


async def _idle(runtime: Runtime, clock: _CountingClock) -> None:
    """Return once all running work waits for the clock."""
    quiet = 0
    while quiet < _QUIET_POLLS:
        await asyncio.sleep(_POLL_S)
        quiet = quiet + 1 if runtime.pending_work <= clock.sleeping else 0


async def _count_turns(
    settings: Settings, changes: Subscription[HistoryEntry], turns: Counter[str], *, prints: bool
) -> None:
    """Count turns by agent as they are committed. prints: also print them."""
    while True:
        try:
            entry = await anext(changes)
        except FeedLaggedError as error:
            turns[""] += error.lost
            if prints:
                print_warning(f"{error.lost} turns were committed too fast to be printed")
        except RuntimeClosedError:
            return
        else:
            turns[entry.agent_id] += 1
            if prints:
                print_turn(settings, entry)


def print_turn(settings: Settings, entry: HistoryEntry) -> None:
    """Print a turn on one line, and flush it for the reader of a pipe."""
    if settings.json:
        print_json_line({"agent_id": entry.agent_id, **agent_views.entry_document(entry)})
    else:
        moved = "" if entry.source == entry.target else f" → {', '.join(entry.target)}"
        line = f"{entry.agent_id} {entry.version}  {entry.event.name}{moved}"
        print_line(f"{clock_text(entry.event.time)}  {drawing_text.visible(line)}")
    sys.stdout.flush()


_FOLLOW_POLL_S: Final = 0.3  # between two looks at the database
_SHARE: Final = 5  # it looks at most this part of the time, however many agents there are
FollowedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[AGENT]",
        help="The id of the agent. Default: all agents.",
        show_default=False,
        autocompletion=complete_agents,
    ),
]


FollowedFrameworkOption = Annotated[
    bool, typer.Option("--framework", help="Also follow the agents of gatechart itself, such as schedules.")
]


async def follow_agents(
    settings: Settings, agent: FollowedArgument = None, framework: FollowedFrameworkOption = False
) -> None:
    """Follow the turns of all agents, or of one agent, one line each, until Ctrl-C.

    The command only reads, and works while a host is running. It polls the database about three times a second, less
    often if there are many agents. With --json, each line is a JSON document. The agents of gatechart itself, such as
    schedules, are followed with --framework, or if you name one. Works without an app.

    Examples:
      gatechart tail
      gatechart tail case-1
      gatechart tail --json | jq -c '[.agent_id, .event.name, .target]'
    """
    try:
        async with stores.open_store(settings.store, role=Role.READER) as store:
            followed = partial(_followed_agents, store, agent, framework=framework)
            known = {each.agent_id: each.version for each in await followed()}
            print_hint(f"following {agent or 'all agents'} in {settings.store}; stop with Ctrl-C")
            while True:
                began = monotonic()
                for entry in await _new_turns(store, await followed(), known):
                    print_turn(settings, entry)
                await asyncio.sleep(max(_FOLLOW_POLL_S, _SHARE * (monotonic() - began)))
    except asyncio.CancelledError:  # Ctrl-C
        return


async def _new_turns(store: Store, followed: Iterable[Snapshot], known: dict[str, int]) -> list[HistoryEntry]:
    """Read the turns after the known versions, and update those versions."""
    entries: list[HistoryEntry] = []
    for each in followed:
        if each.version > (seen := known.get(each.agent_id, 0)):
            turns = await store.history(each.agent_id, after=seen)
            known[each.agent_id] = max((turn.version for turn in turns), default=each.version)
            entries += turns
    return sorted(entries, key=lambda entry: entry.event.time)


async def _followed_agents(store: Store, agent: str | None, *, framework: bool) -> list[Snapshot]:
    """Read one agent or all. framework: include the agents of gatechart itself. Raises UnknownAgentError."""
    if agent is not None:
        return [await store.load(agent)]
    query, agents = Query(limit=1_000, framework=framework), list[Snapshot]()
    while True:
        page = await store.find(query)
        agents += page.agents
        if page.next is None:
            return agents
        query = replace(query, after=page.next)
