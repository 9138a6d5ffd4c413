"""The interface of every home of agents, and the JSON of its commands and results.

`AgentHome` has each verb once; a home implements `execute`. A process that serves a home reads a command with
`COMMANDS.validate_json`, executes it with `home.execute(command)`, and answers with `command.answer.write(result)` or
the JSON of `ErrorDocument.of(error)`. A client inherits from `AgentHome`, too: its `execute` sends the command to that
process.

Each command is defined next to the verb that builds it, in the module of its noun: `gatechart.api.events.SendCommand`.
"""

from gatechart.api.arguments import check_writable, made
from gatechart.api.codec import COUNTS, DONE, HANDOFF, MAIL, OUTCOME, SNAPSHOT, TURN, Answer, ListAnswer, Part
from gatechart.api.command import Command, WritingCommand
from gatechart.api.commands import COMMANDS, KINDS
from gatechart.api.conditions import Bounds
from gatechart.api.errors import ErrorDocument, Reply, ended_elsewhere, facts_of, hidden_under, read_reply
from gatechart.api.home import AgentHome
from gatechart.api.remote_agent import RemoteAgent
from gatechart.api.requests import UnderRequest, execute_once, is_about
from gatechart.api.route import Route

__all__ = [
    "COMMANDS",
    "COUNTS",
    "DONE",
    "HANDOFF",
    "KINDS",
    "MAIL",
    "OUTCOME",
    "SNAPSHOT",
    "TURN",
    "AgentHome",
    "Answer",
    "Bounds",
    "Command",
    "ErrorDocument",
    "ListAnswer",
    "Part",
    "RemoteAgent",
    "Reply",
    "Route",
    "UnderRequest",
    "WritingCommand",
    "check_writable",
    "ended_elsewhere",
    "execute_once",
    "facts_of",
    "hidden_under",
    "is_about",
    "made",
    "read_reply",
]
