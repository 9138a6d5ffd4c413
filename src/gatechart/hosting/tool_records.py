"""Records of tool calls: identities, results, and attempts that must not be repeated.

A success or an unknown outcome holds for the whole invocation. Any other failure holds for one attempt of the function,
so that a retry of the invoke calls the tool again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from pydantic import TypeAdapter

from gatechart.context import canonical_json
from gatechart.errors.tools import CallReusedError
from gatechart.hosting.call_facts import undo_of
from gatechart.hosting.invoke_journal import InvokeJournal, mark
from gatechart.hosting.invoke_trail import NOTHING_MORE, TrailDesk
from gatechart.hosting.media_entries import value_apart
from gatechart.tools.definition import AnyTool
from gatechart.tools.results import FailureKind, ToolFailure, ToolResult
from gatechart.tools.toolbox import ToolBox
from gatechart.values.names import Payload
from gatechart.values.trail import Waited

LONGEST_CALL_ID: Final = 200
"""Maximum length of a caller's call id, in characters. It leaves room for the other parts of record names."""

_KEPT: Final = ("tool", "call_id", "answered_by", "attempts", "waited_s", "breaker", "undo")
_RESULT: Final = TypeAdapter(ToolResult[Any])
_FAILURE: Final = TypeAdapter(ToolFailure)


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies a call: its id, its tool and its arguments."""

    call_id: str
    tool: str
    digest: str  # of the arguments
    is_given: bool = False  # whether the caller gave the id; otherwise tool and arguments determine it

    @property
    def key(self) -> str:
        """The id as a part of record names. A caller's id cannot collide with a derived one."""
        return f"id.{self.call_id}" if self.is_given else self.call_id

    @staticmethod
    def digest_of(arguments: Payload) -> str:
        """Return the digest of arguments, 32 hexadecimal digits. Source: BLAKE2b (RFC 7693)."""
        return blake2b(canonical_json(arguments).encode(errors="surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class CallProgress:
    """The progress of a call."""

    candidate: int = 0  # 0 for the requested tool, then its alternatives
    tries: int = 0  # of the candidate
    attempts: int = 0  # of all candidates
    waited_s: float = 0.0
    began: str = ""  # ISO 8601; the total limit starts here
    tools: Sequence[str] = ()  # tools that may answer, in order, if an escape has switched them
    until: str = ""  # ISO 8601, the end of waiting for circuit breakers that refuse the call; empty without a wait
    down_s: float = 0.0  # the wait ends earlier once such a breaker has been open for this long, in seconds
    waits: int = 0  # waits for circuit breakers so far

    def waited(self, wait_s: float) -> CallProgress:
        """Return the progress after a wait."""
        return replace(self, waited_s=self.waited_s + wait_s)

    def awaited(self, wait_s: float) -> CallProgress:
        """Return the progress after a wait for circuit breakers, back at the first candidate.

        All attempts so far count as attempts of this candidate, so that waits do not raise its policy's limit.
        """
        waited_s = self.waited_s + wait_s
        return replace(self, candidate=0, tries=self.attempts, waited_s=waited_s, waits=self.waits + 1)

    def next_candidate(self) -> CallProgress:
        """Return the progress at the next alternative."""
        return replace(self, candidate=self.candidate + 1, tries=0)

    def tried(self) -> CallProgress:
        """Return the progress with one more attempt."""
        return replace(self, tries=self.tries + 1, attempts=self.attempts + 1)


def key_of_call(journal: InvokeJournal, identity: Identity) -> str:
    """Return an id of the call that is unique among the calls of its agent."""
    return journal.key(mark("call", identity.key, identity.tool))


_OF_GIVEN_ID: Final = re.compile(rf"{re.escape(mark('call', ''))}[a-z]+(?:\.[0-9]+)*\.id\.(?P<id>.*)", re.DOTALL)


def names_of_calls(journal: InvokeJournal, call_ids: Collection[str]) -> tuple[str, ...]:
    """Return the names of all records of calls with these ids. Callers gave the ids."""
    ends = tuple(f".id.{call_id}" for call_id in call_ids)
    names = (name for name in journal.names(mark("call", "")) if name.endswith(ends))
    matches = ((name, _OF_GIVEN_ID.fullmatch(name)) for name in names)
    return tuple(name for name, match in matches if match is not None and match["id"] in call_ids)


class CallRecords:
    """The records of one call."""

    def __init__(
        self,
        journal: InvokeJournal,
        identity: Identity,
        arguments: Payload | None = None,
        trail: TrailDesk | None = None,
    ) -> None:
        """Bind to a journal. Raises CallReusedError if an earlier call with this id had another tool or arguments.

        trail: receives the call; None if the agent has no signals. arguments: of the call, as JSON values.
        """
        self._journal = journal
        self._arguments = arguments or {}
        self._trail = trail
        self.identity = identity
        for name in names_of_calls(journal, (identity.call_id,)) if identity.is_given else ():
            self._check_same(journal.recorded(name))

    def ended(self) -> tuple[ToolResult[Any], str | None] | None:
        """Return the recorded result without its value, and the value's JSON text; None if the call has not ended."""
        text = self._read("result") or self._read("failed", self._journal.attempt)
        return None if text is None else _ended(text)

    def is_under_way(self) -> bool:
        """Return whether the call has started in this attempt of the function. It may have ended since."""
        return self.ended() is not None or bool(self.progress().began)

    def order(self) -> Sequence[str]:
        """Return the recorded tools that may answer, in order; empty without a record."""
        ended = self.ended()
        return self.progress().tools if ended is None else tuple(filter(None, (ended[0].answered_by,)))

    def is_unsettled(self) -> bool:
        """Return whether a tool that must not be repeated was called without a recorded outcome."""
        return self._unsettled() is not None

    def interruption(self) -> str:
        """Return a clause that names the interruption of an unsettled call."""
        attempt = self._unsettled()
        if attempt == self._journal.attempt:
            return "the process that called it ended"
        if attempt is not None and self._journal.is_of_earlier_entry(attempt):
            return "the state was left"
        return "the attempt that called it failed or took longer than its timeout_s,"

    def _unsettled(self) -> int | None:
        return next((attempt for attempt in self._begun() if self._is_unsettled(attempt)), None)

    def _begun(self) -> list[int]:
        """Return the attempts of the function that recorded the start of a call with this id, in order."""
        start = mark("call", "begun", "")
        names = (name for name in self._journal.names(start) if name.endswith(f".{self.identity.key}"))
        attempts = {int(name.removeprefix(start).partition(".")[0]) for name in names}
        return sorted(attempt for attempt in attempts if attempt <= self._journal.attempt)

    def _is_unsettled(self, attempt: int) -> bool:
        begun = self._read("begun", attempt, self._tried(attempt) + 1) is not None
        return begun and self._read("failed", attempt) is None

    def _tried(self, attempt: int) -> int:
        """Return the number of failed tool calls that another one followed, in an attempt of the function."""
        count = 0
        while self._read("tried", attempt, count + 1) is not None:
            count += 1
        return count

    def progress(self) -> CallProgress:
        """Return the progress of the call in this attempt of the function."""
        attempt = self._journal.attempt
        names = (self._name("tried", attempt, self._tried(attempt)), *self._await_names(attempt))
        recorded = (progress for progress in map(self._progress_at, names) if progress is not None)
        return max(recorded, key=lambda progress: (progress.attempts, progress.waits), default=CallProgress())

    def progress_in_rate(self, progress: CallProgress) -> CallProgress | None:
        """Return the progress recorded at the start of a wait for the rate; None without such a wait."""
        recorded = self._progress_at(self.rate_name(progress))
        return recorded if recorded is not None and recorded.waits >= progress.waits else None

    def _progress_at(self, name: str) -> CallProgress | None:
        text = self._journal.recorded(name)
        return None if text is None else CallProgress(**json.loads(text)["progress"])

    async def begin(self, progress: CallProgress, facts: Payload, *, is_repeatable: bool) -> None:
        """Record the start of a call if the tool must not be repeated, or the agent may roll back over the call.

        facts: for the trail of an agent that may. Raises InvocationOverError.
        """
        looks_back = self.looks_back and progress.tries == 1
        if is_repeatable and not looks_back:
            return
        kind = "opened" if is_repeatable else "begun"
        name, text = self._name(kind, self._journal.attempt, progress.attempts), json.dumps(self._asked())
        if self._trail is not None and looks_back:
            await self._trail.begun(self._journal, name, text, facts)
        else:
            await self._journal.record(name, text)

    @property
    def looks_back(self) -> bool:
        """Whether the agent may roll back over the call."""
        return self._trail is not None and self._trail.looks_back

    @property
    def call(self) -> str:
        """An id of the call that is unique among the calls of its agent."""
        return key_of_call(self._journal, self.identity)

    def undo_of(self, box: ToolBox, tool: AnyTool, read: Mapping[str, Any], value: str | None) -> Payload | None:
        """Return the call that undoes this one; None without one, or if the agent never rolls back."""
        return undo_of(box, tool, read, value, self._trail.digest) if self._trail is not None else None

    def tried_name(self, progress: CallProgress) -> str:
        """Return the name of the record that follows a failed attempt."""
        return self._name("tried", self._journal.attempt, progress.attempts)

    def rate_name(self, progress: CallProgress) -> str:
        """Return the name of the record of a wait for the rate, before an attempt."""
        return self._name("rate", self._journal.attempt, progress.attempts, progress.candidate)

    def await_name(self, waits: int) -> str:
        """Return the name of the record of a wait for circuit breakers. It replaces the previous record."""
        return self._await_names(self._journal.attempt)[waits % 2]

    def _await_names(self, attempt: int) -> tuple[str, str]:
        return self._name("await", attempt, 0), self._name("await", attempt, 1)

    def await_draw(self, waits: int) -> float:
        """Return the random number for a wait for circuit breakers, in [0, 1)."""
        return self._journal.draw(self._name("awaits", self._journal.attempt, waits))

    async def tell_wait(self, until: datetime) -> None:
        """Report to the trail, once, that the call waits for a circuit breaker. Raises InvocationOverError."""
        if self._trail is not None:
            entry = Waited(self.identity.tool, int(until.timestamp() * 1000))
            await self._trail.tell(entry, f"wait.{self._journal.attempt}.{self.identity.key}")

    def key(self, name: str) -> str:
        """Return a key of the record with this name, unique among all invocations."""
        return self._journal.key(name)

    def wait_facts(self, progress: CallProgress) -> Payload:
        """Return the facts that a record of a wait stores beside its end."""
        return {"progress": asdict(progress), **self._asked()}

    async def end(
        self, result: ToolResult[Any], value: str | None, more: Payload = NOTHING_MORE
    ) -> tuple[ToolResult[Any], str | None]:
        """Record the result and return the recorded one, as `ended` does. Raises InvocationOverError.

        value: of the result, as JSON text. more: further facts for the trail. If the call fires a signal, the agent has
        handled it when this returns.
        """
        failure = None if result.failure is None else _FAILURE.dump_python(result.failure, mode="json")
        facts = {field: getattr(result, field) for field in _KEPT} | {"failure": failure}
        is_final = result.ok or (result.failure is not None and result.failure.kind is FailureKind.OUTCOME_UNKNOWN)
        name = self._name("result") if is_final else self._name("failed", self._journal.attempt)
        text = json.dumps({"result": facts, "value": value, **self._asked()})
        if self._trail is None:
            return _ended(await self._journal.record(name, text))
        entry = self._trail.called(self.identity.tool, self._arguments, result, value)
        return _ended(await self._trail.record(self._journal, name, text, entry, more))

    async def apart(self, value: Any) -> Any:
        """Return a result with the bytes of its media stored separately, if the records belong to the agent."""
        return await value_apart(self._journal, value) if self._journal.is_of_agent else value

    def draw(self, progress: CallProgress) -> float:
        """Return the random number for the wait after this attempt, in [0, 1)."""
        return self._journal.draw(self.tried_name(progress))

    def _check_same(self, text: str | None) -> None:
        if text is not None and (asked := json.loads(text)["asked"]) != [self.identity.tool, self.identity.digest]:
            invocation = self._journal.invocation
            raise CallReusedError(invocation.agent_id, invocation.invoke, self.identity.call_id, asked[0])

    def _read(self, *parts: object) -> str | None:
        return self._journal.recorded(self._name(*parts))

    def _name(self, *parts: object) -> str:
        return mark("call", *parts, self.identity.key)

    def _asked(self) -> Payload:
        return {"asked": [self.identity.tool, self.identity.digest]}


def _ended(text: str) -> tuple[ToolResult[Any], str | None]:
    record = json.loads(text)
    return _RESULT.validate_python(record["result"]), record["value"]
