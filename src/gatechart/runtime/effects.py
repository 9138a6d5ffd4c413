"""Carry out the effects of committed turns: mail, timers, invokes."""

from __future__ import annotations

from collections.abc import Callable

from gatechart.hosting.escapes import attempt_of
from gatechart.hosting.registry import Registry, known_graph
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.core import Core
from gatechart.runtime.inboxes import Inboxes
from gatechart.runtime.invokes import Invokes
from gatechart.runtime.offers import send_again
from gatechart.runtime.posted_mail import PostedMail
from gatechart.runtime.searchable import declare
from gatechart.runtime.timers import Timers
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import (
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Offer,
    OfferChosen,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    refuse_unknown,
)
from gatechart.values.escapes import NO_ESCAPES
from gatechart.values.framework import DIRECTORY_GRAPH, LESSONS_GRAPH
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.names import AgentId


class Effects:
    """All work beyond the turns of agents: mail, timers and invokes. Fulfils AgentSurroundings."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self.directory = AgentDirectory(core, registry, self)
        self.inboxes = Inboxes(core, registry, self.directory, self.accept)
        self.posted = PostedMail(core, self.directory, self.accept, self.inboxes.deliver)
        self.finished, self.arrived = self.posted.finished, self.inboxes.hand_over  # see AgentSurroundings
        self.timers = Timers(core, self.inboxes.deliver)
        self.invokes = Invokes(core, registry, self.accept, self.directory.get)

    async def recover(self) -> None:
        """Continue with work that the previous runtime accepted and did not finish.

        A runtime without background work only stores its graphs.
        """
        await self._remember_graphs()
        self._core.breakers.load(await self._core.store.breakers())
        if not self._core.attends:
            return
        # No turn starts until everything is read: otherwise its effects would be read from the store and started twice.
        # Mail comes first and is held until `begin`, because it was accepted before anything that timers or invokes
        # send now.
        await self.inboxes.recover()
        await self.timers.recover()
        await send_again(self._core, self.accept)  # a lost offer follows the mail that was accepted before
        await self.invokes.recover()
        self.inboxes.begin()
        self._migrate_callers()

    def graph_registered(self) -> None:
        """Continue with work that waited for a graph."""
        if self._core.read_only:
            return
        self._core.spawn(self._core.ask(self._remember_graphs), "remember the graphs")
        self.invokes.begin_unhosted()
        self._core.spawn(self.inboxes.collect_all(), "collect mail")
        self._migrate_callers()

    async def _remember_graphs(self) -> None:
        await self._core.store.remember([known_graph(graph) for graph in self._registry.versions])
        await declare(self._core, self._registry)

    def _migrate_callers(self) -> None:
        """Read the agents whose invokes wait for a missing graph: migrating them may provide it."""
        if self.invokes.unhosted:
            self._core.spawn(self.directory.get_many(self.invokes.unhosted), "migrate agents")

    def close(self) -> None:
        """Notify the subscribers to invokes that the runtime is closing."""
        self.invokes.streams.close("stream")

    def accept(self, mail: Mail) -> None:
        """Send committed mail to its recipient, or to the timers until it is due."""
        if self._is_due(mail):
            self.inboxes.deliver(mail)
        else:
            self.timers.add(mail)

    def carry_out(self, turn: TurnRecord) -> None:
        """Carry out the effects of the committed turn."""
        if turn.snapshot.graph == DIRECTORY_GRAPH and self._core.entries is not None:
            self._core.entries.see(turn.snapshot)
        elif turn.snapshot.graph == LESSONS_GRAPH and self._core.lessons is not None:
            self._core.lessons.see(turn.snapshot)
        for effect in turn.effects:
            self._carry_out(turn, effect)
        if turn.snapshot.trail.escapes is not NO_ESCAPES and (attempt := attempt_of(turn)) is not None:
            self._core.telemetry.escaped(turn, attempt)
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
                running = ActiveInvocation(call, after.graph, after.graph_version, after.context_text)
                self.invokes.begin(running, is_new=True)
            case ReplaceMail() | ReplaceInvocation():
                self._replace(agent_id, effect)
            case Offer() | OfferChosen():
                self._offer(turn, effect)
            case ChangeHandoff():
                self._core.telemetry.committed(turn, effect)
            case Send() | Timer():  # accepted with the turn's mail
                pass
            case _:
                refuse_unknown(effect)

    def _offer(self, turn: TurnRecord, effect: Offer | OfferChosen) -> None:
        self._core.telemetry.committed(turn, effect)
        is_due = isinstance(effect, OfferChosen) or effect.due is None
        if effect.handoff.is_new and is_due and self._core.attends:
            self.inboxes.expect(effect.handoff.target)

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

    def _replace(self, agent_id: AgentId, effect: ReplaceMail | ReplaceInvocation) -> None:
        match effect:
            case ReplaceMail(number, mail):
                self.amend(agent_id, number, mail)
            case ReplaceInvocation(invocation, running):
                self.invokes.adopt(invocation, running)

    def forget(self, agent_id: AgentId) -> None:
        """End the invokes of an erased agent, and forget its timers and mail."""
        had_timers = self.timers.drop(agent_id, lambda _: True)
        self.inboxes.forget(agent_id, had_timers=had_timers)
        self.invokes.end(agent_id)

    def amend(self, agent_id: AgentId, number: int, mail: Mail | None) -> None:
        """Replace mail wherever it is waiting, or forget it."""
        if mail is not None and mail.status is not MailStatus.WAITING:  # it is being taken, and this change ends that
            return
        if mail is not None and self._is_due(mail) and self.inboxes.amend(mail):
            return
        self._drop(agent_id, lambda each: each.number == number)
        if mail is not None:
            self.accept(mail)

    def _is_due(self, mail: Mail) -> bool:
        return mail.due is None or mail.due <= self._core.clock.now()

    def _drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> None:
        self.timers.drop(agent_id, is_over)
        self.inboxes.drop(agent_id, is_over)
