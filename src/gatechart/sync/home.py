"""The homes of agents without `await`: each method calls the asynchronous home and waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import ParamSpec

from gatechart import runtime
from gatechart.api.home import AgentHome
from gatechart.graph.graph import AnyGraph
from gatechart.sync.agent import handing
from gatechart.sync.loop_thread import LoopThread
from gatechart.sync.verbs import called, iterating, subscribing, waiting
from gatechart.values.homes import Capabilities

P = ParamSpec("P")


class Home:
    """A home of agents with blocking methods, from `use`."""

    def __init__(self, thread: LoopThread, mirrored: AgentHome) -> None:
        self._thread = thread
        self._mirrored = mirrored

    @property
    def capabilities(self) -> Capabilities:
        """What this home supports, compared with other homes."""
        return self._mirrored.capabilities

    execute = waiting(AgentHome.execute)
    start = handing(AgentHome.start)
    start_on = handing(AgentHome.start_on)
    start_or_resume = handing(AgentHome.start_or_resume)
    resume = handing(AgentHome.resume)
    fork = handing(AgentHome.fork)
    read = waiting(AgentHome.read)
    send = waiting(AgentHome.send)
    post = waiting(AgentHome.post)
    mail = waiting(AgentHome.mail)
    retry = waiting(AgentHome.retry)
    discard = waiting(AgentHome.discard)
    fire_timer = waiting(AgentHome.fire_timer)
    stop = waiting(AgentHome.stop)
    erase = waiting(AgentHome.erase)
    rollback = waiting(AgentHome.rollback)
    end_invoke = waiting(AgentHome.end_invoke)
    handoff = waiting(AgentHome.handoff)
    handoffs = waiting(AgentHome.handoffs)
    cancel_handoff = waiting(AgentHome.cancel_handoff)
    accepts = waiting(AgentHome.accepts)
    can = waiting(AgentHome.can)
    snapshot_at = waiting(AgentHome.snapshot_at)
    history = waiting(AgentHome.history)
    journal = waiting(AgentHome.journal)
    cut = waiting(AgentHome.cut)
    find = waiting(AgentHome.find)
    schedule = waiting(AgentHome.schedule)
    schedules = waiting(AgentHome.schedules)
    pause_schedule = waiting(AgentHome.pause_schedule)
    resume_schedule = waiting(AgentHome.resume_schedule)
    run_schedule = waiting(AgentHome.run_schedule)
    delete_schedule = waiting(AgentHome.delete_schedule)
    breakers = waiting(AgentHome.breakers)
    findings = waiting(AgentHome.findings)
    hosts = waiting(AgentHome.hosts)
    alarm = waiting(AgentHome.alarm)
    failure = waiting(AgentHome.failure)
    retry_agent = waiting(AgentHome.retry_agent)
    isolate_breaker = waiting(AgentHome.isolate_breaker)
    close_breaker = waiting(AgentHome.close_breaker)
    register_entry = waiting(AgentHome.register_entry)
    deregister_entry = waiting(AgentHome.deregister_entry)
    directory = waiting(AgentHome.directory)
    choose = waiting(AgentHome.choose)
    forget_lessons = waiting(AgentHome.forget_lessons)
    forget_user = waiting(AgentHome.forget_user)
    mark_entry = waiting(AgentHome.mark_entry)
    rate_handoff = waiting(AgentHome.rate_handoff)
    agents = iterating(AgentHome.agents)
    counts = waiting(AgentHome.counts)
    changes = subscribing(AgentHome.changes)
    stream = subscribing(AgentHome.stream)
    graph_of = called(AgentHome.graph_of)


class Runtime(Home):
    """The embedded runtime with blocking methods, from `open`."""

    _mirrored: runtime.Runtime

    @property
    def graphs(self) -> tuple[AnyGraph, ...]:
        """The newest version of each graph that this runtime hosts."""
        return self._mirrored.graphs

    @property
    def pending_work(self) -> int:
        """Number of pending turns, timers and invokes, including work that waits for the clock."""
        return self._mirrored.pending_work

    @property
    def dead_letters(self) -> int:
        """Number of messages that died since the runtime opened and that agents may wait for in vain."""
        return self._mirrored.dead_letters

    register = called(runtime.Runtime.register)
    migrate = iterating(runtime.Runtime.migrate)
    prune = waiting(runtime.Runtime.prune)
    ownership_lost = waiting(runtime.Runtime.ownership_lost)


@contextmanager
def use(home: AbstractAsyncContextManager[AgentHome]) -> Iterator[Home]:
    """Open any home of agents in a thread, such as a client: `with sync.use(HttpClient(url)) as client`.

    home: an asynchronous context manager, such as a client, or your own that also opens the resources of a runtime's
    services. Raises the errors of opening it.
    """
    with LoopThread.open() as thread, thread.entered("use", lambda: home) as opened:
        yield Home(thread, opened)


def _opening(
    opens: Callable[P, AbstractAsyncContextManager[runtime.Runtime]],
) -> Callable[P, AbstractContextManager[Runtime]]:
    @wraps(opens)
    @contextmanager
    def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[Runtime]:
        with LoopThread.open() as thread, thread.entered("open", partial(opens, *args, **kwargs)) as opened:
            yield Runtime(thread, opened)

    return call


open = _opening(runtime.Runtime.open)  # noqa: A001
"""Open a runtime on a store: `Runtime.open`, as `with open("sqlite+aiosqlite:///agents.db", graphs=[g]) as runtime`."""
