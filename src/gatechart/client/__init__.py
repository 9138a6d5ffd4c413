"""The client of `gatechart serve`: the verbs of a runtime that is somewhere else. It needs `gatechart[client]`."""

from gatechart.client.changes import Changes
from gatechart.client.client import Client
from gatechart.client.errors import (
    AnswerLostError,
    ChangesMissedError,
    ClientClosedError,
    ClientTokenError,
    ServerAnswerError,
    ServerUnreachableError,
    UnauthorizedError,
)

__all__ = [
    "AnswerLostError",
    "Changes",
    "ChangesMissedError",
    "Client",
    "ClientClosedError",
    "ClientTokenError",
    "ServerAnswerError",
    "ServerUnreachableError",
    "UnauthorizedError",
]
