"""The view of an agent's state that the ledger works on."""

from __future__ import annotations

from gatechart.restate.state import AgentState, digest_of
from gatechart.stores.operations import Content, HandoffState
from gatechart.values import AgentId, EventName, HandoffStatus, Invocation, Mail, Payload


class LoadedState:
    """The state of one agent as a commit sees it. Implements `Loaded`.

    It knows no ids: every recipient detects repeated mail on arrival, even in mail to itself.
    """

    def __init__(self, state: AgentState) -> None:
        self._state = state

    def version(self, agent_id: AgentId) -> int:  # noqa: ARG002
        """See Loaded."""
        return 0 if self._state.snapshot is None else self._state.snapshot.version

    def waits(self, number: int) -> bool:
        """See Loaded."""
        return self._state.waits(number)

    def mail(self, number: int) -> Mail | None:
        """See Loaded."""
        return self._state.numbered(number)

    def waiting(self, recipient: AgentId, mail_id: str) -> Mail | None:  # noqa: ARG002
        """See Loaded. No mail is known by its id."""
        return None

    def applied(self, recipient: AgentId, event_id: str) -> Content | None:  # noqa: ARG002
        """See Loaded. No event is known by its id."""
        return None

    def content(self, event: EventName, payload: Payload) -> Content:
        """See Loaded."""
        return event, digest_of(event, payload)

    def is_active(self, invocation: Invocation) -> bool:
        """See Loaded."""
        return any(each.invocation == invocation for each in self._state.calls)

    def has_result(self, invocation: Invocation, step: str) -> bool:  # noqa: ARG002
        """See Loaded. Results are in the engine's journal."""
        return False

    def handoff(self, handoff_id: str, expected: HandoffStatus | None = None) -> HandoffState | None:
        """See Loaded. Only the target stores a handoff; for anyone else it has the expected status."""
        status = self._state.offers.get(handoff_id, expected)
        return None if status is None else HandoffState(status, ())

    def slot(self, handoff_id: str) -> str | None:
        """See Loaded."""
        return self._state.places.get(handoff_id)

    def slots_held(self, graph: str) -> int:  # noqa: ARG002
        """See Loaded. The graph's object counts slots, and is asked before the turn."""
        return 0
