"""The tool calls of an invoked function: their identities, and the tools that may answer them."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid5

from gatechart.context import canonical_json
from gatechart.errors.event import PayloadError
from gatechart.errors.root import suggestion
from gatechart.hosting.call_facts import shown
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_journal import KEYS, InvokeJournal, mark
from gatechart.hosting.invoke_trail import TrailDesk
from gatechart.hosting.tool_call import CallHost, RunningCall, ToolCandidate
from gatechart.hosting.tool_policies import tool_box
from gatechart.hosting.tool_records import LONGEST_CALL_ID, CallRecords, Identity
from gatechart.tools.arguments import ArgumentsMisfitError
from gatechart.tools.definition import AnyTool
from gatechart.tools.results import FailureKind, ToolFailure, ToolResult
from gatechart.values.breakers import BreakerState
from gatechart.values.escapes import NO_ESCAPES, Escapes
from gatechart.values.names import Payload, unkept
from gatechart.values.tool_policies import PoliciesByTool, ToolPolicies


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
        """Bind to a run. layers: policies of the graph that override the tools' own, the weakest first.

        trail: None if the graph has no signals.
        """
        self._host = host
        self._journal = journal
        self._idleness = idleness
        self._waits = Waits(host, journal, idleness)
        self._trail = trail
        self._layers = (*layers, host.gates.policies)
        self._box = tool_box(host.services)
        self._policies: dict[str, ToolPolicies] = {}  # effective policies, by tool
        self._kept_keys: dict[str, str] = {}  # by call: the key of the earlier call that it repeats; empty for none
        self._equal: Counter[str] = Counter()  # calls without an id so far, by tool and digest
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # by key of the call

    async def call(
        self,
        name: str,
        args: Sequence[Any],
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        undoes: str = "",
    ) -> ToolResult[Any]:
        """See `Work.call`. name: of a tool, its own or its name for models. args: in the tool's order.

        arguments: by name. undoes: the call that this one undoes.
        """
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
        # Calls with the same id wait for the first one, and share its record.
        async with self._locks[identity.key], self._idleness.busy():
            trail = self._trail if self._trail is not None and await self._trail.open() else None
            records = CallRecords(self._journal, identity, shown(tool, read, written), trail)
            escapes = NO_ESCAPES if trail is None or records.is_under_way() else await trail.escapes()
            order = records.order() or self._order(tool, escapes)
            candidates = tuple(self._candidates(tool, read, written, records, order, escapes))
            return await RunningCall(
                self._host,
                records,
                self._waits,
                self._idleness,
                candidates,
                self._journal.invocation.agent_id,
                is_switched=bool(records.progress().tools) or tool.name in dict(escapes.switched),
                awaited=escapes.awaited_of(tool.name),
                undoes=undoes,
            ).result()

    def _identity(self, tool: AnyTool, written: Payload, call_id: str | None) -> Identity:
        digest = Identity.digest_of(written)
        if call_id is not None:
            return Identity(_checked(call_id), tool.name, digest, is_given=True)
        call = Identity.digest_of({"tool": tool.name, "arguments": digest})
        self._equal[call] += 1
        return Identity(f"{call}.{self._equal[call]}", tool.name, digest)

    def _order(self, tool: AnyTool, escapes: Escapes) -> Sequence[str]:
        """Return the names of the tools that may answer, in the order to try them.

        An alternative that an escape has put in place of the tool comes before it. If the tool's circuit breaker is
        open, the tool stays first: the breaker then lets only probes through, which show whether it works again.
        """
        alternatives = (other.name for other in self._box.alternatives(tool, self._policies_of(tool)))
        switched = dict(escapes.switched).get(tool.name)
        if switched is None:
            return (tool.name, *alternatives)
        is_open = tool.name in escapes.mending or self._host.breakers.state(tool.name) is not BreakerState.CLOSED
        first = (tool.name, switched) if is_open else (switched, tool.name)
        return tuple(dict.fromkeys((*first, *alternatives)))

    def _candidates(
        self,
        asked: AnyTool,
        read: Mapping[str, Any],
        written: Payload,
        records: CallRecords,
        order: Sequence[str],
        escapes: Escapes,
    ) -> Iterator[ToolCandidate]:
        """Yield the requested tool and its alternatives, except tools that the arguments do not fit."""
        names = order if asked.name in order else (*order, asked.name)
        for tool in (named for name in names if (named := self._box.get(name)) is not None):
            try:
                arguments = read if tool is asked else tool.takes.read(written)
            except ArgumentsMisfitError:
                continue
            document = written if tool is asked else tool.takes.written(arguments)
            digest = partial(_digest, tool, arguments, document)
            key = partial(self._key, tool, document, records.identity, digest, escapes)
            undo = partial(records.undo_of, self._box, tool, arguments)
            yield ToolCandidate(tool, self._policies_of(tool), arguments, digest, key, undo)

    def _policies_of(self, tool: AnyTool) -> ToolPolicies:
        policies = self._policies.get(tool.name)
        if policies is None:
            policies = self._policies[tool.name] = self._box.policies(tool, self._layers)
        return policies

    def _key(
        self, tool: AnyTool, written: Payload, identity: Identity, digest: Callable[[], str], escapes: Escapes
    ) -> str:
        """Return the idempotency key: of the business object if the tool names one, otherwise of the call.

        A call that the agent repeats after rolling back over it keeps its key. digest: returns the digest of the
        arguments.
        """
        if not tool.key:
            own = mark("call", identity.key, tool.name)
            if own not in self._kept_keys:
                self._kept_keys[own] = self._earlier_key(tool, digest(), escapes) if escapes.keys else ""
            return self._kept_keys[own] or self._journal.key(own)
        object_ = canonical_json({name: written.get(name) for name in tool.key})
        return str(uuid5(KEYS, "\0".join((tool.name, object_))))

    def _earlier_key(self, tool: AnyTool, digest: str, escapes: Escapes) -> str:
        used = self._kept_keys.values()
        same = (kept.key for kept in escapes.keys if (kept.tool, kept.arguments) == (tool.name, digest))
        return next((key for key in same if key not in used), "")


def _digest(tool: AnyTool, read: Mapping[str, Any], written: Payload) -> str:
    return Identity.digest_of(shown(tool, read, written))


def _named(tool: AnyTool, args: Sequence[Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all arguments by name. Raises ArgumentsMisfitError."""
    names = tuple(tool.takes.schema.get("properties", ()))
    by_order = dict(zip(names, args, strict=False))
    twice = by_order.keys() & arguments.keys()
    if len(args) > len(names) or twice:
        problem = f"{min(twice)}: it is given twice" if twice else f"there are {len(args)}; at most {len(names)} fit"
        raise ArgumentsMisfitError(problem)
    return {**by_order, **arguments}


def _checked(call_id: str) -> str:
    """Return the id unchanged. Raises PayloadError if a store cannot keep the names of its records."""
    problem = unkept(call_id, LONGEST_CALL_ID) or ("" if call_id else "it is empty")
    if problem:
        raise PayloadError("call_id", (problem,), f"a text of 1 to {LONGEST_CALL_ID} characters")
    return call_id


def _failed(tool: str, call_id: str | None, kind: FailureKind, message: str) -> ToolResult[Any]:
    return ToolResult(tool=tool, call_id=call_id or "", failure=ToolFailure(kind, message))
