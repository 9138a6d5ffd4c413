"""HTTP routes: method, path and status.

Each command declares its route; the routes of streams and health checks are here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel
from pydantic_core import to_json

from gatechart.values.frozen import value

MOST: Final = 1000
"""The maximum number of entries on a page; fewer if the entries are large."""

_FIELD: Final = re.compile(r"{(\w+)}")


@value
class Route:
    """A method and a path. Fields of the command that are not in the path are in the query, or in a POST's body."""

    method: str
    path: str  # with `{field}` for variable parts
    summary: str  # of the command, for the OpenAPI document
    status: int = 200  # of the answer

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that are in the path."""
        return tuple(_FIELD.findall(self.path))

    @property
    def has_body(self) -> bool:
        """Whether the other fields are in the body rather than the query."""
        return self.method == "POST"

    def path_of(self, call: BaseModel) -> str:
        """Return the path with the fields of a command filled in.

        >>> from gatechart.api.agents import ReadCommand
        >>> [ReadCommand.route.path_of(ReadCommand(agent_id=agent)) for agent in ("a/b", "..")]
        ['/agents/a%2Fb', '/agents/%2E%2E']
        """
        return self.path_with({field: getattr(call, field) for field in self.in_path})

    def path_with(self, fields: Mapping[str, Any]) -> str:
        """Return the path with these fields filled in."""
        return _FIELD.sub(lambda match: quoted_part(str(fields[match[1]])), self.path)

    def rest_of(self, call: BaseModel) -> dict[str, Any]:
        """Return the fields outside the path as JSON values; in a query, objects become JSON text.

        Omits nulls, and empty texts where empty is the default: a server refuses empty texts.
        """
        fields = type(call).model_fields
        unset = {name for name, field in fields.items() if field.default == "" and getattr(call, name) == ""}
        rest = call.model_dump(mode="json", exclude={"verb", *self.in_path, *unset}, exclude_none=True)
        if self.has_body:
            return rest
        return {name: to_json(value).decode() if isinstance(value, dict) else value for name, value in rest.items()}


def quoted_part(text: str) -> str:
    """Percent-encode a text as one path segment; a segment of only dots would mean a parent folder."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


LIVE: Final = "/health/live"
READY: Final = "/health/ready"
OPENAPI: Final = "/openapi.json"
CHANGES: Final = "/changes"
TURN: Final = "turn"
MISSED: Final = "missed"
"""The names of the events in the stream of committed turns."""

STREAM: Final = Route(
    "GET",
    "/agents/{agent_id}/invokes/{invoke}/stream",
    "Stream what an invoke publishes, as server-sent events, until the invoke ends",
)
ITEM: Final = "item"
END: Final = "end"
"""The names of the events in the stream of an invoke, besides `MISSED`."""
