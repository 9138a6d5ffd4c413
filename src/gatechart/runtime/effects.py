"""Carries out what committed turns ask for: mail, timers, invokes."""

from __future__ import annotations

from collections.abc import Callable

from gatechart.hosting.registry import Registry, known_graph
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.core import Core
from gatechart.runtime.inboxes import Inboxes
from gatechart.runtime.invokes import Invokes
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.offers import send_again
from gatechart.runtime.timers import Timers
from gatechart.values import (
    ActiveInvocation,
    AgentId,
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Invocation,
    Mail,
    MailStatus,
    Offer,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    TurnRecord,
    refuse_unknown,
)


class Effects:
    """What happens beyond the turns of agents: mail, timers and invokes. Fulfils Surroundings."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self.directory = AgentDirectory(core, registry, self)
        self.post = Inboxes(core, registry, self.directory, self.accept)
        self.timers = Timers(core, self.post.deliver)
        self.invokes = Invokes(core, registry, self.accept)

    async def recover(self) -> None:
        """Go on with what was accepted and not finished when the runtime before this one ended.

        A runtime that attends to nothing only has its graphs remembered.
        """
        await self._remember_graphs()
        if not self._core.attends:
            return
        # No turn begins before all is read: what it asks for would be read from the store, and begun, a second time.
        # Mail first, and held until `begin`: it was accepted before anything that timers or invokes bring now.
        await self.post.recover()
        await self.timers.recover()
        await send_again(self._core, self.accept)  # a lost offer comes behind the mail that was accepted before
        await self.invokes.recover()
        self.post.begin()
        self._migrate_callers()

    def graph_registered(self) -> None:
        """Go on with what waited for a graph."""
        if self._core.read_only:
            return
        self._core.spawn(self._core.ask(self._remember_graphs), "remember the graphs")
        self.invokes.begin_unhosted()
        self._core.spawn(self.post.collect_all(), "collect mail")
        self._migrate_callers()

    async def _remember_graphs(self) -> None:
        await self._core.store.remember([known_graph(graph) for graph in self._registry.versions])

    def _migrate_callers(self) -> None:
        """Read the agents whose invokes wait for a missing graph: the version to which they migrate may have them."""
        if self.invokes.unhosted:
            self._core.spawn(self.directory.get_many(self.invokes.unhosted), "migrate agents")

    def close(self) -> None:
        """Tell those who watch invokes that the runtime is closing."""
        self.invokes.streams.close("stream")

    def accept(self, mail: Mail) -> None:
        """Take committed mail to its recipient, or to the timers until it is due."""
        if self._is_due(mail):
            self.post.deliver(mail)
        else:
            self.timers.add(mail)

    def carry_out(self, turn: TurnRecord) -> None:
        """Begin and end what the committed turn asks for."""
        for effect in turn.effects:
            self._carry_out(turn, effect)
        for mail in turn.mail:
            self.accept(mail)

    def _carry_out(self, turn: TurnRecord, effect: Effect) -> None:
        after = turn.snapshot
        agent_id = after.agent_id
        match effect:
            case Cancel() | CancelTimer() | CancelAll():
                self._end(agent_id, effect)
            case StartInvoke(state, invoke):
                call = Invocation(agent_id, state, after.version, invoke)
                self.invokes.begin(ActiveInvocation(call, after.graph, after.graph_version, after.context))
            case ReplaceMail(number, mail):
                self.amend(agent_id, number, mail)
            case ReplaceInvocation(invocation, running):
                self.invokes.adopt(invocation, running)
            case Offer() | ChangeHandoff():
                self._core.telemetry.committed(turn, effect)
            case Send() | Timer():  # accepted as the turn's mail
                pass
            case _:
                refuse_unknown(effect)

    def _end(self, agent_id: AgentId, effect: Cancel | CancelTimer | CancelAll) -> None:
        match effect:
            case Cancel(state):
                self._drop(agent_id, lambda mail: mail.state == state)
                self.invokes.end(agent_id, state)
            case CancelTimer(key):
                self._drop(agent_id, lambda mail: mail.key == key)
            case CancelAll():
                self._drop(agent_id, lambda mail: mail.state is not None or mail.key is not None)
                self.invokes.end(agent_id)

    def finished(self, mail: Mail) -> None:
        """Take note that an agent is done with mail."""
        self.post.finished(mail)

    def arrived(self, agent: LiveAgent) -> None:
        """Take note that an agent has come into memory."""
        self.post.hand_over(agent)

    def forget(self, agent_id: AgentId) -> None:
        """End the invokes of an agent that was erased, and forget its timers and mail."""
        had_timers = self.timers.drop(agent_id, lambda _: True)
        self.post.forget(agent_id, had_timers=had_timers)
        self.invokes.end(agent_id)

    def amend(self, agent_id: AgentId, number: int, mail: Mail | None) -> None:
        """Put amended mail into the place of the old, wherever that is by now, or forget it."""
        if mail is not None and mail.status is not MailStatus.WAITING:  # it is being taken, and that ends with this
            return
        if mail is not None and self._is_due(mail) and self.post.amend(mail):
            return
        self._drop(agent_id, lambda each: each.number == number)
        if mail is not None:
            self.accept(mail)

    def _is_due(self, mail: Mail) -> bool:
        return mail.due is None or mail.due <= self._core.clock.now()

    def _drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> None:
        self.timers.drop(agent_id, is_over)
        self.post.drop(agent_id, is_over)
