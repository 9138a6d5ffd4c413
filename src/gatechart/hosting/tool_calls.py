"""The tool calls of an invoked function: their identities, and the tools that may answer them."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid5

from gatechart.context import canonical_json
from gatechart.errors import PayloadError, suggestion
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_journal import KEYS, InvokeJournal, mark
from gatechart.hosting.tool_call import CallHost, Candidate, ToolCall
from gatechart.hosting.tool_policies import tool_box
from gatechart.hosting.tool_records import LONGEST_CALL_ID, CallRecords, Identity
from gatechart.hosting.trail_desk import TrailDesk
from gatechart.secrets import marked, masked
from gatechart.tools import RESERVED_ARGUMENT, AnyTool, ArgumentsMisfitError, FailureKind, ToolFailure, ToolResult
from gatechart.values import Payload, PoliciesByTool, ToolPolicies, unkept


class ToolCalls:
    """The tool calls of one run of an invoked function."""

    def __init__(
        self,
        host: CallHost,
        journal: InvokeJournal,
        idleness: Idleness,
        layers: Sequence[PoliciesByTool],
        trail: TrailDesk | None = None,
    ) -> None:
        """Bind to a run. layers: what the graph says over the tools' own policies, the weakest first.

        trail: None if the graph has no signals.
        """
        self._host = host
        self._journal = journal
        self._idleness = idleness
        self._waits = Waits(host, journal, idleness)
        self._trail = trail
        self._layers = (*layers, host.gates.policies)
        self._box = tool_box(host.services)
        self._policies: dict[str, ToolPolicies] = {}  # effective ones, by tool
        self._equal: Counter[str] = Counter()  # calls without an id so far, by tool and digest
        self._alone: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def call(self, name: str, args: Sequence[Any], arguments: MutableMapping[str, Any]) -> ToolResult[Any]:
        """See `Work.call`. name: of a tool, its own or the one that models know it by. args: in the tool's order.

        arguments: by name, with the call's id, whose name no tool can give an argument.
        """
        call_id = arguments.pop(RESERVED_ARGUMENT, None)
        tool = self._box.get(name)
        if tool is None:
            message = f"there is no tool {name!r}: {suggestion(name, self._box.names)}"
            return _failed(name, call_id, FailureKind.UNKNOWN_TOOL, message)
        try:
            read = tool.takes.read(_named(tool, args, arguments))
            written = tool.takes.written(read)
        except ArgumentsMisfitError as error:
            return _failed(tool.name, call_id, FailureKind.INVALID_ARGUMENTS, str(error))
        identity = self._identity(tool, written, call_id)
        # Calls under one id wait for the first, whose record is then theirs.
        async with self._alone[identity.key], self._idleness.busy():
            candidates = tuple(self._candidates(tool, read, written, identity))
            trail = self._trail if self._trail is not None and await self._trail.open() else None
            records = CallRecords(self._journal, identity, _masked(tool, read, written), trail)
            agent_id = self._journal.invocation.agent_id
            return await ToolCall(self._host, records, self._waits, self._idleness, candidates, agent_id).result()

    def _identity(self, tool: AnyTool, written: Payload, call_id: str | None) -> Identity:
        digest = Identity.digest_of(written)
        if call_id is not None:
            return Identity(_checked(call_id), tool.name, digest, is_given=True)
        call = Identity.digest_of({"tool": tool.name, "arguments": digest})
        self._equal[call] += 1
        return Identity(f"{call}.{self._equal[call]}", tool.name, digest)

    def _candidates(
        self, tool: AnyTool, read: Mapping[str, Any], written: Payload, identity: Identity
    ) -> Iterator[Candidate]:
        """Yield the tool, then the alternatives that the arguments fit."""
        policies = self._policies_of(tool)
        yield Candidate(tool, policies, read, partial(self._key, tool, written, identity))
        for other in self._box.alternatives(tool, policies):
            try:
                arguments = other.takes.read(written)
            except ArgumentsMisfitError:
                continue
            key = partial(self._key, other, other.takes.written(arguments), identity)
            yield Candidate(other, self._policies_of(other), arguments, key)

    def _policies_of(self, tool: AnyTool) -> ToolPolicies:
        found = self._policies.get(tool.name)
        if found is None:
            found = self._policies[tool.name] = self._box.policies(tool, self._layers)
        return found

    def _key(self, tool: AnyTool, written: Payload, identity: Identity) -> str:
        """Return the idempotency key: of the business object if the tool names one, else of the call."""
        if not tool.key:
            return self._journal.key(mark("call", identity.key, tool.name))
        object_ = canonical_json({name: written.get(name) for name in tool.key})
        return str(uuid5(KEYS, "\0".join((tool.name, object_))))


def _named(tool: AnyTool, args: Sequence[Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all arguments by name. Raises ArgumentsMisfitError."""
    names = tuple(tool.takes.schema.get("properties", ()))
    by_order = dict(zip(names, args, strict=False))
    twice = by_order.keys() & arguments.keys()
    if len(args) > len(names) or twice:
        problem = f"{min(twice)}: it is given twice" if twice else f"there are {len(args)}, {len(names)} at most"
        raise ArgumentsMisfitError(problem)
    return {**by_order, **arguments}


def _masked(tool: AnyTool, read: Mapping[str, Any], written: Payload) -> Payload:
    """Return arguments as JSON values with a mask in place of each secret: of its type, or of the tool's schema."""
    shown: Payload = masked(tool.takes.schema, marked(read, written))
    return shown


def _checked(call_id: str) -> str:
    """Return the id unchanged. Raises PayloadError if no store can keep the names of its records."""
    problem = unkept(call_id, LONGEST_CALL_ID) or ("" if call_id else "it is empty")
    if problem:
        raise PayloadError("call_id", (problem,), f"a text of 1 to {LONGEST_CALL_ID} characters")
    return call_id


def _failed(tool: str, call_id: str | None, kind: FailureKind, message: str) -> ToolResult[Any]:
    return ToolResult(tool=tool, call_id=call_id or "", failure=ToolFailure(kind, message))
