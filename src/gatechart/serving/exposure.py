"""Exceptions over HTTP: callers see the type and a short message. Only operators see the stored texts.

Exceptions of an application may name files of the server, show its source code, or contain secrets. The store keeps
their full text. `public` is applied to every result before it is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from gatechart.api.codec import TURN
from gatechart.api.command import Command
from gatechart.api.home import AgentHome
from gatechart.turn.turn_context import one_line
from gatechart.values.agents import Event, Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import JournalEntry
from gatechart.values.findings import HealthFinding
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.framework import OWN_KINDS, is_framework_graph, is_framework_id
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffRecord
from gatechart.values.homes import Capabilities
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail
from gatechart.values.names import is_reserved
from gatechart.values.queries import HistoryEntry, Page
from gatechart.values.schedules import Schedule

LONGEST_MESSAGE: Final = 500
"""Maximum length, in characters, of an exception's text in its public form."""

_PATH: Final = re.compile(r"""(?<![\w/:.>-])(?:file://)?(?:[A-Za-z]:[\\/]|\\\\|~?/)[^\s'"<>|,;:()]+""")
_HIDDEN_PATH: Final = "(a path)"
_TRACEBACK: Final = re.compile(r"Traceback \(m|\bFile \"[^\"]*\", line \d+")

_TEXTS: Final = frozenset({"message", "problem", "problems", "raised", "reason", "text", "details", "error", "why"})
_THEIRS: Final = frozenset({"payload", "result", "arguments", "context", "conversation", "internal_state", "reasoning"})
_REPORTING: Final = ("error.", "handoff.", "signal.", "escape.", "alarm.watchdog.")
_MAY_REPORT: Final = re.compile(
    rb'"(?:error|handoff|signal|escape|alarm\.watchdog|raised|problem|output|schedule:|alerts:|directory:|watchdog)'
)
_ERROR: Final = '"error"'  # the field of a failed call in the JSON of a context


def public_text(text: str) -> str:
    """Return the form of an exception's text that every caller may see.

    It is one line of at most 500 characters. Paths of files are hidden, and the text ends before a traceback.

    >>> public_text("OSError: cannot open '/srv/app/secret.db';" + chr(10) + "see https://example.org/help")
    "OSError: cannot open '(a path)'; see https://example.org/help"
    >>> public_text('ToolFailed: Traceback (most recent call last): File "/srv/app.py", line 3, in f')
    'ToolFailed:'
    """
    traceback = _TRACEBACK.search(text)
    line = _PATH.sub(_HIDDEN_PATH, one_line(text if traceback is None else text[: traceback.start()]))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"


def public(result: Any) -> Any:
    """Return a result of a command with the texts of exceptions in their public form, and all other data unchanged."""
    if isinstance(result, list | tuple):
        return tuple(map(public, result))
    shape = _SHAPES.get(type(result))
    return result if shape is None else shape(result)


def public_turn(text: bytes) -> bytes:
    """Return the JSON of an entry of the history with the texts of exceptions in their public form."""
    return TURN.write(_turn(TURN.read(text))) if _MAY_REPORT.search(text) else text


def shown_turns(*, exceptions: bool, framework: bool) -> Callable[[bytes], bytes | None]:
    """Return a function that converts the JSON of a history entry for a reader, or omits the entry with None.

    exceptions: whether the reader sees their stored texts. framework: whether it gets turns of framework agents.
    """
    shown = bytes if exceptions else public_turn
    return shown if framework else lambda text: None if text.startswith(_OWN_TURNS) else shown(text)


_OWN_TURNS: Final = tuple(
    f'{{"agent_id":"{kind.agent}{"" if kind.agent.endswith(":") else chr(34)}'.encode() for kind in OWN_KINDS
)
"""Prefixes of the JSON of turns of framework agents: `agent_id` is the first field."""


class PublicHome(AgentHome):
    """A home whose commands return public results."""

    def __init__(self, home: AgentHome) -> None:
        self._home = home

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the home."""
        return self._home.capabilities

    async def execute(self, command: Command) -> Any:
        """Execute a command and return the public form of its result. Raises the errors of the verb."""
        return public(await self._home.execute(command))


def _report(value: Any, key: str = "", theirs: frozenset[str] = _THEIRS) -> Any:
    """Return a report of the framework with its texts in their public form, at any depth.

    key: name of the value. theirs: names of parts that belong to applications; only failed calls are changed in them.
    """
    if key in theirs:
        return _failed_calls(value)
    if isinstance(value, str):
        return "" if key == "traceback" else public_text(value) if key in _TEXTS else value
    if isinstance(value, Mapping):
        return {name: _report(item, name, theirs) for name, item in value.items()}
    return type(value)(_report(item, key, theirs) for item in value) if isinstance(value, list | tuple) else value


def _own_report(value: Any) -> Any:
    """Return the public form of a report by a framework agent. Only a schedule's payload is an application's."""
    return _report(value, theirs=frozenset({"payload"}))


def _payload(event: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    is_report = event.startswith(_REPORTING) and is_reserved(event)
    return cast("Mapping[str, Any]", _report(payload) if is_report else _failed_calls(payload))


def _event(event: Event) -> Event:
    return replaced(event, payload=_payload(event.name, event.payload))


def _fired(fired: FiredSignal) -> FiredSignal:
    return replaced(
        fired, problem=public_text(fired.problem), evidence=_report(fired.evidence), others=_report(fired.others)
    )


def _turn(turn: HistoryEntry) -> HistoryEntry:
    is_own = is_framework_id(turn.agent_id)
    return replace(
        turn,
        event=replaced(turn.event, payload=_own_report(turn.event.payload)) if is_own else _event(turn.event),
        guard_errors=tuple(replaced(error, raised=public_text(error.raised)) for error in turn.guard_errors),
        fired=None if turn.fired is None else _fired(turn.fired),
        changed=_own_report(turn.changed) if is_own else _failed_calls(turn.changed),
        appended=_own_report(turn.appended) if is_own else _failed_calls(turn.appended),
    )


def _mail(mail: Mail) -> Mail:
    return replaced(mail, payload=_payload(mail.event, mail.payload), reason=public_text(mail.reason))


def _handoff(handoff: HandoffRecord) -> HandoffRecord:
    changes = tuple(replaced(change, details=public_text(change.details)) for change in handoff.changes)
    choice = None if handoff.choice is None else _report(handoff.choice)
    return replaced(handoff, packet=_report(handoff.packet), changes=changes, choice=choice)


def _snapshot(snapshot: Snapshot) -> Snapshot:
    is_own = is_framework_graph(snapshot.graph)
    if not is_own and _ERROR not in snapshot.context_text:
        return snapshot
    context = json.loads(snapshot.context_text)
    return replaced(snapshot, context_text=json.dumps(_own_report(context) if is_own else _failed_calls(context)))


def _finding(finding: HealthFinding) -> HealthFinding:
    return replaced(finding, text=public_text(finding.text), evidence=_report(finding.evidence))


def _journal(entry: JournalEntry) -> JournalEntry:
    return replaced(entry, content=_failed_calls(entry.content))


def _failed_calls(content: Any) -> Any:
    """Return a conversation with the errors of its tool calls in their public form. The messages are unchanged."""
    if isinstance(content, Mapping):
        is_call = "output" in content and isinstance(content.get("error"), str)
        return {
            name: public_text(item) if is_call and name == "error" else _failed_calls(item)
            for name, item in content.items()
        }
    return type(content)(map(_failed_calls, content)) if isinstance(content, list | tuple) else content


_SHAPES: Final[Mapping[type, Callable[[Any], Any]]] = {
    BreakerRecord: lambda breaker: replaced(breaker, reason=public_text(breaker.reason)),
    HandoffRecord: _handoff,
    HealthFinding: _finding,
    HistoryEntry: _turn,
    HostRecord: lambda host: replaced(host, facts=_report(host.facts)),
    JournalEntry: _journal,
    Mail: _mail,
    Page: lambda page: replaced(page, agents=tuple(map(_snapshot, page.agents))),
    Schedule: lambda schedule: replaced(schedule, problem=public_text(schedule.problem)),
    Snapshot: _snapshot,
}
