"""HTTP routes: one table with the method, path and status of each command, for server and client alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from gatechart.api.commands import (
    BaseCommand,
    CancelHandoffCommand,
    DiscardCommand,
    EndInvokeCommand,
    EraseCommand,
    FindCommand,
    FireTimerCommand,
    HandoffCommand,
    HandoffsCommand,
    HistoryCommand,
    MailCommand,
    PostCommand,
    ReadCommand,
    RetryCommand,
    RollbackCommand,
    SendCommand,
    SnapshotAtCommand,
    StartCommand,
    StartOnCommand,
    StopCommand,
)
from gatechart.values.frozen import value

MOST: Final = 1000
"""The most entries on a page. A page of large entries has fewer."""

_FIELD: Final = re.compile(r"{(\w+)}")


@value
class Route:
    """A method and a path. Fields of the command that are not in the path go into the query, or the body of a POST."""

    method: str
    path: str  # with `{field}` for variable parts
    status: int = 200  # of the answer

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that are in the path."""
        return tuple(_FIELD.findall(self.path))

    @property
    def has_body(self) -> bool:
        """Whether the other fields go into the body rather than the query."""
        return self.method == "POST"

    def path_of(self, call: BaseCommand) -> str:
        """Fill the fields of a command into the path.

        >>> [ROUTES[ReadCommand].path_of(ReadCommand(agent_id=agent)) for agent in ("a/b", "..")]
        ['/agents/a%2Fb', '/agents/%2E%2E']
        """
        return _FIELD.sub(lambda found: _quoted(str(getattr(call, found[1]))), self.path)

    def rest_of(self, call: BaseCommand) -> dict[str, Any]:
        """Return the fields that are not in the path, as JSON values without nulls."""
        return call.model_dump(mode="json", exclude={"verb", *self.in_path}, exclude_none=True)


def _quoted(text: str) -> str:
    """Quote the text as one part of a path; dots alone would mean the parent folder."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


ROUTES: Final[Mapping[type[BaseCommand], Route]] = {
    StartCommand: Route("POST", "/agents", 201),
    StartOnCommand: Route("POST", "/agents", 201),
    FindCommand: Route("GET", "/agents"),
    ReadCommand: Route("GET", "/agents/{agent_id}"),
    EraseCommand: Route("DELETE", "/agents/{agent_id}", 204),
    SendCommand: Route("POST", "/agents/{to}/events"),
    PostCommand: Route("POST", "/agents/{to}/mail", 202),
    RetryCommand: Route("POST", "/mail/{number}/retry"),
    HistoryCommand: Route("GET", "/agents/{agent_id}/history"),
    SnapshotAtCommand: Route("GET", "/agents/{agent_id}/versions/{version}"),
    DiscardCommand: Route("POST", "/mail/{number}/discard"),
    StopCommand: Route("POST", "/agents/{agent_id}/stop"),
    RollbackCommand: Route("POST", "/agents/{agent_id}/rollback"),
    HandoffCommand: Route("POST", "/agents/{agent_id}/handoffs", 202),
    HandoffsCommand: Route("GET", "/handoffs"),
    CancelHandoffCommand: Route("POST", "/handoffs/{handoff_id}/cancel", 202),
    MailCommand: Route("GET", "/mail"),
    FireTimerCommand: Route("POST", "/mail/{number}/fire"),
    EndInvokeCommand: Route("POST", "/agents/{agent_id}/invokes/{invoke}/end", 202),
}
"""The route of each command. `start_on` shares that of `start`: its body has a trigger."""

PARTS: Final[Mapping[type[BaseCommand], tuple[str, str]]] = {
    FindCommand: ("agents", "agent_id"),
    HistoryCommand: ("history", "version"),
    MailCommand: ("mail", "number"),
    HandoffsCommand: ("handoffs", "number"),
}
"""The commands with paged answers: the list field of the answer, and the field of its last entry that `after` takes."""

LIVE: Final = "/health/live"
READY: Final = "/health/ready"
OPENAPI: Final = "/openapi.json"
CHANGES: Final = "/changes"
TURN: Final = "turn"
MISSED: Final = "missed"
"""The names of the events in the stream of committed turns."""
