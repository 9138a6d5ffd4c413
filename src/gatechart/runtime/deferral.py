"""Events that an agent defers: kept as mail until it enters a configuration that takes them."""

from __future__ import annotations

from collections.abc import Callable

from gatechart.errors.event import EventIdReusedError
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import JobQueue
from gatechart.turn.turns import MOST_DEFERRED, deferred, too_many_deferred
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.commits import Posting, Verdict
from gatechart.values.frozen import value
from gatechart.values.mail import Mail


@value
class Deferral:
    """The handling of events that were sent to an agent and that it defers."""

    core: Core
    graph: AnyGraph
    snapshot: Snapshot
    queue: JobQueue
    defer: Callable[[Mail], None]  # keeps mail for a later configuration

    @property
    def is_full(self) -> bool:
        """Whether the agent cannot defer any more."""
        return len(self.queue.deferred) >= MOST_DEFERRED

    def before(self, event: Event) -> Outcome | None:
        """Return the outcome of deferred mail with the event's id; None if there is none. Raises EventIdReusedError."""
        mails = (self.queue.mail[number] for number in self.queue.deferred)
        earlier = next((mail for mail in mails if mail.id == event.id), None)
        if earlier is None:
            return None
        if (earlier.event, earlier.payload) != (event.name, event.payload):
            raise EventIdReusedError(self.snapshot.agent_id, event.id or "", earlier.event)
        return deferred(self.snapshot, event, repeat=True)

    async def put_off(self, event: Event) -> Outcome:
        """Turn the event into mail, durable when this returns. Raises EventIdReusedError."""
        if self.is_full:
            return too_many_deferred(self.graph, self.snapshot, event)
        core, agent_id = self.core, self.snapshot.agent_id
        mail = Mail(core.store.numbers(1), agent_id, event.name, event.payload, core.clock.now(), event.id)
        try:
            verdict = await core.committer.commit(Posting(mail))
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:  # it may have been accepted, and then later mail must come after it
            core.doubted.add(mail.number)
            self.defer(mail)
            raise
        if verdict is Verdict.REUSED:
            raise EventIdReusedError(agent_id, event.id or "", event.name)
        if verdict is Verdict.COMMITTED:
            self.defer(mail)
        return deferred(self.snapshot, event, repeat=verdict is not Verdict.COMMITTED)
