"""The transfers that a state offers to a model now: tools, and a text for the model. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from gatechart.context import read_only_context
from gatechart.errors.failures import contained
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.graph.payload_schema import JsonSchema
from gatechart.graph.transfers import To, Transfers
from gatechart.handoff.conversation import ConversationContext
from gatechart.handoff.packet import HandoffPacket
from gatechart.tools.arguments import Described, Takes
from gatechart.tools.definition import Tool
from gatechart.tools.toolbox import ToolBox
from gatechart.turn.possibilities import possible
from gatechart.turn.turn_context import one_line
from gatechart.values.agents import Snapshot
from gatechart.values.frozen import value
from gatechart.values.names import StateName
from gatechart.values.possibilities import Agrees
from gatechart.values.texts import shortened
from gatechart.values.transfers import TransferCount, Visit, count_of

Doors: TypeAlias = Callable[[str, str], EntryPoint | None]
"""Finds an entry point by its graph and its name; None if the graph is not known here."""

LONGEST_TEXT: Final = 8_000
"""Maximum length of the text for the model, in characters."""

_REASON: Final = {"type": "string", "description": "Why this is the next step."}
_SUMMARY: Final = {"type": "string", "description": "What the target needs to know to continue.", "default": ""}


@value
class TransferOffer:
    """The transfers that a model can choose among: `work.transfer_tools()` returns it."""

    state: StateName
    tools: ToolBox  # a tool for each target allowed now; empty if no choice is left, or if the state has no transfers
    text: str  # for the model: cause of entry, earlier choices and results, choices left; empty without transfers
    left: int  # choices left, this one included
    targets: Mapping[str, To]  # by the name of their tool

    def takes(self, to: To) -> Takes:
        """Return the arguments that the tool of an offered target takes."""
        (match,) = (tool.takes for tool in self.tools if tool.name == to.tool)
        return match

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools in the shape of OpenAI's chat completions."""
        return self.tools.openai()

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools in the shape of Anthropic's messages."""
        return self.tools.anthropic()


def offer_of(graph: AnyGraph, snapshot: Snapshot, state: StateName, now: datetime, doors: Doors) -> TransferOffer:
    """Return the transfers that a state offers now, without targets whose guards refuse. None are left at zero."""
    transfers = graph.nodes[state].transfers
    if transfers is None:
        return TransferOffer(state, ToolBox(), "", 0, {})
    return _Offering(graph, snapshot, state, transfers, doors).offer(now)


@value
class _Offering:
    """Builds the offer of one state."""

    graph: AnyGraph
    snapshot: Snapshot
    state: StateName
    transfers: Transfers
    doors: Doors

    def offer(self, now: datetime) -> TransferOffer:
        denied = {to.key: self.denial(to, now) for to in self.transfers.targets}
        remaining = self.transfers.left(self.snapshot.transfers, self.state)
        allowed = [to for to in self.transfers.targets if remaining and denied[to.key] is None]
        tools = ToolBox([self.tool(to) for to in allowed])
        lines = (*self.told(remaining), *(why for why in denied.values() if why and remaining))
        text = shortened("\n".join(lines), LONGEST_TEXT)
        return TransferOffer(self.state, tools, text, remaining, {to.tool: to for to in allowed})

    def denial(self, to: To, now: datetime) -> str | None:
        """Return why a target is not allowed now; None if its guard allows it, or cannot decide yet."""
        asked = possible(self.graph, self.snapshot, to.event, None, now).transitions
        if not asked or asked[0].agrees is not Agrees.NO:
            return None
        return f"{to.key} is not possible now: {asked[0].why_not or f'{asked[0].guard} says no'}."

    def tool(self, to: To) -> Tool[..., Any]:
        door = self.doors(to.name, to.at) if to.at else None
        target = door if to.at else self.graph.nodes.get(to.name)
        described = to.description or (target.description if target else "")
        takes = Described(JsonSchema(json.dumps(self.schema(to, door))))
        return Tool(to.tool, description=described or f"Continue at {to.key}.", function=_refuse_call, takes=takes)

    def schema(self, to: To, door: EntryPoint | None) -> dict[str, Any]:
        """Return the JSON Schema of a tool's arguments: reason, summary, and the target's own arguments."""
        none: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
        if not self.transfers.arguments:
            return none
        own = _schema_of(to, door)
        properties = {"reason": _REASON, "summary": _SUMMARY, **own.get("properties", {})}
        more = {"$defs": own["$defs"]} if "$defs" in own else {}
        return {**none, "properties": properties, "required": ["reason", *own.get("required", ())], **more}

    def told(self, remaining: int) -> Iterator[str]:
        """Yield the lines of the text for the model."""
        count = count_of(self.snapshot.transfers, self.state)
        if count.entered_by:
            yield f"What led here: {count.entered_by}"
        yield from (_visit_line(visit) for visit in count.visits)
        yield from _refusal_line(count)
        status = self.status()
        if status:
            yield f"Status of the task: {status}"
        if remaining:
            yield f"Transfers left: {remaining} of {self.transfers.most}."
        else:
            yield f"No transfer is left; the next step after your answer is {self.transfers.otherwise}."

    def status(self) -> str:
        """Describe the status of the task: with the chart's function, or from the fields of a conversation."""
        context = read_only_context(self.graph.context, self.snapshot.context_text)
        if self.transfers.status is not None:
            with contained():
                return one_line(str(self.transfers.status(context)))
        if isinstance(context, ConversationContext):
            return one_line("; ".join(filter(None, (context.current_problem, context.suggested_action))))
        return ""


def _schema_of(to: To, door: EntryPoint | None) -> dict[str, Any]:
    """Return the JSON Schema of a target's arguments: its own `takes`, or else the open fields of the entry point.

    The arguments become entities of the packet, so the model gets only the fields that entities may fill.
    """
    if to.takes is not None:
        return {} if issubclass(to.takes, HandoffPacket) else to.takes.model_json_schema()
    if door is None or door.takes is None or issubclass(door.takes, HandoffPacket):
        return {}
    whole = door.takes.model_json_schema(by_alias=False)
    properties = {name: schema for name, schema in whole.get("properties", {}).items() if name in door.entities}
    required = [name for name in whole.get("required", ()) if name in properties]
    return whole | {"properties": properties, "required": required}


def _visit_line(visit: Visit) -> str:
    reply = f", said {visit.said}" if visit.said else ""
    return f"{visit.target}: chosen at {visit.time:%Y-%m-%d %H:%M} UTC{reply}"


def _refusal_line(count: TransferCount) -> Iterator[str]:
    if count.refused:
        yield f"{count.refused} was refused: {count.why or 'its guard said no'}"


def _refuse_call(**_: Any) -> None:
    raise TypeError("a transfer is not a function; choose it with `await work.transfer(name, arguments)`")
