"""The client of `gatechart serve`: the verbs of a runtime that is somewhere else. It needs `gatechart[client]`."""

from gatechart.client.changes import Changes
from gatechart.client.client import Client
from gatechart.client.errors import (
    AnswerLostError,
    ChangesMissedError,
    ServerAnswerError,
    ServerUnreachableError,
    UnauthorizedError,
)

__all__ = [
    "AnswerLostError",
    "Changes",
    "ChangesMissedError",
    "Client",
    "ServerAnswerError",
    "ServerUnreachableError",
    "UnauthorizedError",
]
