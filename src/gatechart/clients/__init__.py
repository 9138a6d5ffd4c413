"""Clients of runtimes in other processes: over HTTP, and through the database that such a runtime owns.

`HttpClient` needs the extra `gatechart[client]`, so it is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from gatechart.clients.database import DatabaseClient, open_database_client
from gatechart.errors.extras import needing

if TYPE_CHECKING:
    from gatechart.clients.errors import (
        AnswerLostError,
        ChangesMissedError,
        ClientClosedError,
        ClientTokenError,
        ItemsMissedError,
        ServerAnswerError,
        ServerUnreachableError,
        UnauthorizedError,
    )
    from gatechart.clients.event_streams import Changes, Published
    from gatechart.clients.http import HttpClient

__all__ = [
    "AnswerLostError",
    "Changes",
    "ChangesMissedError",
    "ClientClosedError",
    "ClientTokenError",
    "DatabaseClient",
    "HttpClient",
    "ItemsMissedError",
    "Published",
    "ServerAnswerError",
    "ServerUnreachableError",
    "UnauthorizedError",
    "open_database_client",
]

_MODULES: Final = {"HttpClient": "http", "Changes": "event_streams", "Published": "event_streams"}


if not TYPE_CHECKING:  # as in the package above

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with needing("client", f"gatechart.clients.{name}"):
            return getattr(import_module(f"gatechart.clients.{_MODULES.get(name, 'errors')}"), name)
