"""Which endpoint a request is for: by its path as it was sent, so that a name in it may hold any character."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from gatechart.serving.problems import Refused

Endpoint: TypeAlias = Callable[[Request], Awaitable[ASGIApp]]
Methods: TypeAlias = Mapping[str, Endpoint]


class Paths:
    """Endpoints by path and method; a `{name}` between slashes stands for whatever is there, unless it is empty."""

    def __init__(self, endpoints: Mapping[str, Methods]) -> None:
        self._of_length: defaultdict[int, list[tuple[list[str], Methods]]] = defaultdict(list)
        for path, methods in endpoints.items():
            parts = path.split("/")
            self._of_length[len(parts)].append((parts, methods))

    def find(self, scope: Scope) -> Endpoint | None:
        """The endpoint, None where the path has none. Raises Refused where the path has it for other methods only.

        What the names stand for is in `path_params` of the scope then, still quoted.
        """
        sent = scope["raw_path"].decode("latin-1").split("/")
        for parts, methods in self._of_length.get(len(sent), ()):
            found = _names(parts, sent)
            if found is not None:
                scope["path_params"] = found
                return _for_method(methods, scope["method"])
        return None


def _names(parts: list[str], sent: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for part, text in zip(parts, sent, strict=True):
        if part.startswith("{") and text:
            found[part[1:-1]] = text
        elif part != text:
            return None
    return found


def _for_method(methods: Methods, method: str) -> Endpoint:
    wanted = "GET" if method == "HEAD" else method
    if wanted in methods:
        return methods[wanted]
    allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
    raise Refused(405, "MethodNotAllowed", f"{method} is not for this path; it takes {allowed}", allow=allowed)
