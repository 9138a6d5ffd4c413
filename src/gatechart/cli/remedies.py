"""Translate the remedies in error texts into commands and options.

Errors are written for programs: they name Python calls and arguments. A person at a shell gets the command or option
instead. This table is the only place for that; a test walks all errors.
"""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = "of the program that hosts the agents"
WORDS: Final[tuple[tuple[str, str], ...]] = (  # (pattern, replacement)
    # agents
    (r"look it up with find\(\) or `gatechart list`", "look it up with `gatechart list`"),
    (
        r"resume it, or start an agent with another id",
        "choose another --id, or leave it as it is with `gatechart start --or-resume`",
    ),
    (
        r"repeat an event unchanged, or give a new event a new id",
        "repeat an event unchanged, or give a new event a new --id",
    ),
    (
        r"register the graph that the agent was started with, or migrations from that graph",
        "add the graph that the agent was started with, or migrations from that graph, to the app",
    ),
    (r"and keep the old one registered as long as", "and keep the old one in the app as long as"),
    (r"give each graph of a runtime a different", "give each graph of the app a different"),
    (r"pass graphs=\[\.\.\.\] with StateTransitionGraph objects", "name an attribute that holds graphs"),
    (
        r"register it, or look it up with directory\(\)",
        "register it with `gatechart directory register`, or look it up with `gatechart directory`",
    ),
    (
        r"create it, or look it up with schedules\(\) or `gatechart schedule`",
        "create it with `gatechart schedule set`, or look it up with `gatechart schedule`",
    ),
    (r"go back to any version with rollback\(\)", "go back to any version with `gatechart rollback`"),
    # mail, timers and invokes
    (
        r"fix the cause and retry\((\d+)\) it, or discard\(\1\) it and",
        r"fix the cause and run `gatechart mail retry \1`, or run `gatechart mail discard \1` and",
    ),
    (
        r"list them with mail\(status='refused'\) or 'dead'",
        "list them with `gatechart mail --status refused` or `--status dead`",
    ),
    (r"find its number with mail\(\), or `gatechart mail`", "find its number with `gatechart mail`"),
    (r"with fire_timer\(\), or `gatechart mail fire`", "with `gatechart mail fire`"),
    (r"with end_invoke\(\), or `gatechart end-invoke`", "with `gatechart end-invoke`"),
    (
        r"let an action raise it within its turn with turn\.raise_event\(\)",
        "let an action raise it within its turn",
    ),
    (
        r"or open the runtime with Limits\(when_full=WhenFull\.WAIT\) or a larger inbox",
        f"or raise the limit `inbox` {_HOST}",
    ),
    (r"open the runtime with a larger Limits\((.+?)=\.\.\.\)", rf"raise the limit `\1` {_HOST}"),
    (r"raise Limits\((\w+)=\.\.\.\)", rf"raise the limit `\1` {_HOST}"),
    (r"raise Terms\(.*?\)(?: of the service)?", "raise the limits of the service"),
    (r"close it with close_breaker\('(.*)'\)", r"close it with `gatechart breakers close \1`"),
    # handoffs
    (
        r"with turn\.handoff\(\), and an operator with handoff\(\)",
        "in an action, and an operator with `gatechart handoff`",
    ),
    (r"look it up with handoffs\(\) or `gatechart handoffs`", "look it up with `gatechart handoffs`"),
    (r"cancel them, or wait until they end", "cancel them with `gatechart handoffs cancel`, or wait until they end"),
    (r"Register (PacketMigration\(.*?\)|one)", "Name a packet migration with GATECHART_PACKET_MIGRATIONS"),
    # databases
    (
        r"end it first, or open the database for reading",
        "end it first, or let `gatechart run --standby` wait for its end; commands that only read need not wait",
    ),
    (r"nothing was written\. Open a new runtime", "nothing was written; run the command again"),
    (r"continue there, or open the database for reading", "continue there; commands that only read work here, too"),
    (
        r"make file and folder writable, or open it for reading",
        "make file and folder writable; commands that only read need not write",
    ),
    (r"wait longer, or see what the owner is doing", "wait longer with --timeout, or see what the owner is doing"),
    (
        r"send the header `Authorization: Bearer TOKEN` with the server's token",
        "put the server's token into GATECHART_TOKEN",
    ),
    # charts and drawings
    (r"write one of the two, or pass load\(entry_points=\[\.\.\.\]\)", "write one of the two, or add --entry STATE"),
    (
        r"write that name, and bind it with bind=",
        "write that name, and define it in the module that follows the file in the app",
    ),
    (r"or raise limit_s", "or raise --limit"),
)
_COMPILED: Final = tuple((re.compile(pattern), instead) for pattern, instead in WORDS)


def in_commands(text: str) -> str:
    """Return the text of an error with commands and options in place of Python calls and arguments.

    >>> in_commands("there is no agent 'a'; start it, or look it up with find() or `gatechart list`")
    "there is no agent 'a'; start it, or look it up with `gatechart list`"
    """
    for pattern, instead in _COMPILED:
        text = pattern.sub(instead, text)
    return text
