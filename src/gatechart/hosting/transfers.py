"""Transfers that a model chooses in an invoke. The choice is recorded before it takes effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

from gatechart.errors.tools import CallReusedError
from gatechart.graph.compile import Edge
from gatechart.graph.graph import AnyGraph
from gatechart.graph.transfer_edges import TransferRole
from gatechart.graph.transfers import To
from gatechart.hosting.invoke_host import TransferHost
from gatechart.hosting.invoke_journal import InvokeJournal, mark
from gatechart.tools.arguments import ArgumentsMisfitError
from gatechart.tools.naming import model_name
from gatechart.tools.schemas import without_nulls
from gatechart.tools.toolbox import ToolBox
from gatechart.turn.arguments import checked_key, plain_payload
from gatechart.turn.transfer_offer import TransferOffer, offer_of
from gatechart.values.agents import Outcome
from gatechart.values.frozen import value
from gatechart.values.names import StateName
from gatechart.values.transfers import count_of

CHOICES: Final = UUID("52a1b2a4-6c8e-5d0f-8a57-0f6f0c1c8f21")  # the namespace of choice ids
LONGEST_SHOWN: Final = 4_000  # characters of the offer's text that the history keeps
NO_TRANSFERS: Final = TransferOffer("", ToolBox(), "", 0, {})


@value
class TransferOutcome:
    """The outcome of a choice, for the model that chose."""

    tool: str
    answer: str  # for the model
    went_to: tuple[StateName, ...] = ()  # the agent's new states; empty if it stays and the model can choose again
    left: int = 0  # choices left

    @property
    def is_followed(self) -> bool:
        """Whether the agent has left the state, through the choice or `otherwise`. The function then ends."""
        return bool(self.went_to)


def choice_name(call_id: str) -> str:
    """Return the journal name of the record of a model's choice."""
    return mark("transfer_call", call_id)


def epoch_of_choice(journal: InvokeJournal, call_id: str) -> int | None:
    """Return the epoch of the state when a model's choice was recorded; None without a record."""
    recorded = journal.recorded(choice_name(call_id))
    return None if recorded is None else int(json.loads(recorded)["epoch"])


class TransferDesk:
    """The transfers of one attempt at an invocation's function."""

    def __init__(self, host: TransferHost, journal: InvokeJournal, graph: AnyGraph) -> None:
        self._host = host
        self._journal = journal
        self._invocation = journal.invocation
        self._graph = graph
        self._offered: TransferOffer | None = None
        self._unnamed = 0  # choices without an id
        self._followed = ""  # the chosen tool whose transfer took effect

    async def offer(self) -> TransferOffer:
        """Return the transfers that the model can choose now."""
        call = self._invocation
        if self._graph.nodes[call.state].transfers is None:
            return NO_TRANSFERS
        snapshot = await self._host.snapshot(call)
        self._offered = offer_of(self._graph, snapshot, call.state, self._host.now(), self._host.entry_point)
        return self._offered

    async def choose(self, tool: str, arguments: Mapping[str, Any], call_id: str) -> TransferOutcome:
        """Choose a transfer, see `Work.transfer`."""
        given = dict(plain_payload(arguments, tool))
        if self._followed:
            return TransferOutcome(tool, f"{self._followed} was chosen first; this call was not carried out.")
        name = self._record_name(call_id)
        recorded = self._journal.recorded(name)
        if recorded is None:
            choice = await self._checked_choice(tool, given)
            if isinstance(choice, TransferOutcome):
                return choice
            recorded = await self._journal.record(name, json.dumps(choice))
        return await self._carried_out(json.loads(recorded), name, tool, given)

    def _record_name(self, call_id: str) -> str:
        """Return the journal name of a choice's record. A choice without an id is numbered within the attempt."""
        if call_id:
            return choice_name(checked_key(call_id, "call_id"))
        self._unnamed += 1
        return mark("transfer", self._invocation.epoch, self._journal.attempt, self._unnamed)

    async def _checked_choice(self, tool: str, given: dict[str, Any]) -> dict[str, Any] | TransferOutcome:
        """Return the choice to record, or the answer to the model if the choice is invalid."""
        offer = self._offered or await self.offer()
        to = next((target for name, target in offer.targets.items() if tool in (name, model_name(name))), None)
        if to is None:
            return TransferOutcome(tool, _unknown(offer, tool), left=offer.left)
        takes = offer.takes(to)
        try:
            arguments = takes.written(takes.read(without_nulls(takes.schema, given)))
        except ArgumentsMisfitError as error:
            return TransferOutcome(tool, f"The arguments do not fit, so nothing was done: {error}.", left=offer.left)
        choice = {"tool": tool, "given": given, "epoch": self._invocation.epoch, "event": to.event}
        return {**choice, "payload": _payload(offer, to, dict(arguments))}

    async def _carried_out(
        self, choice: Mapping[str, Any], name: str, tool: str, given: Mapping[str, Any]
    ) -> TransferOutcome:
        call = self._invocation
        if (choice["tool"], choice["given"]) != (tool, given):
            raise CallReusedError(call.agent_id, call.invoke, name.rpartition(".")[2], choice["tool"])
        if choice["epoch"] != call.epoch:
            return TransferOutcome(tool, "That step was chosen earlier; the work has since returned to this state.")
        event_id = str(uuid5(CHOICES, "\0".join((call.agent_id, str(call.epoch), call.invoke, name))))
        outcome = await self._host.choose(call, choice["event"], choice["payload"], event_id)
        edge = self._edge(outcome)
        if edge is None or edge.role is TransferRole.REFUSED:
            return await self._refused(tool, outcome, edge)
        self._followed = tool
        went_to = outcome.configuration
        note = "" if edge.role is TransferRole.CHOSEN else f"{edge.to} is no longer possible. "
        return TransferOutcome(tool, f"{note}The work continues in {', '.join(went_to)}.", went_to)

    async def _refused(self, tool: str, outcome: Outcome, edge: Edge | None) -> TransferOutcome:
        snapshot = await self._host.snapshot(self._invocation)
        state, counts = self._invocation.state, snapshot.transfers
        transfers = self._graph.nodes[state].transfers
        reason = str(outcome.refusal) if edge is None else count_of(counts, state).why or "its guard is false"
        answer = f"That is no longer possible: {reason}. Choose another step, or continue without one."
        return TransferOutcome(tool, answer, left=0 if transfers is None else transfers.left(counts, state))

    def _edge(self, outcome: Outcome) -> Edge | None:
        """Return the transition that the choice triggered; None without one."""
        edges = {edge.label: edge for edge in self._graph.nodes[self._invocation.state].edges if edge.role is not None}
        return next((edges[label] for label in outcome.taken if label in edges), None)


def _unknown(offer: TransferOffer, tool: str) -> str:
    names = ", ".join(map(model_name, offer.targets))
    offered = f"The offered transfers are: {names}." if names else "No transfer is offered."
    return f"{tool} is not offered, so nothing was done. {offered}"


def _payload(offer: TransferOffer, to: To, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of a choice's event, which the history keeps."""
    return {
        "tool": to.tool,
        "arguments": arguments,
        "offered": [target.key for target in offer.targets.values()],
        "left": offer.left - 1,
        "shown": offer.text[:LONGEST_SHOWN],
    }
