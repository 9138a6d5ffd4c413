"""The command `gatechart`: graphs checked and drawn, agents started, fed and looked at, from a shell.

Exit codes, for scripts:

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | the event was refused, nothing was changed; or `migrate`, `show`, `run` or `handoff` has bad news |
| 2 | the command line is wrong |
| 3 | the definition is wrong: a graph, where the graphs are, or what `check` found |
| 4 | this call is wrong now: no such agent, a payload that does not fit, an action that raised |
| 5 | the world around failed: a database, a file, Graphviz |
| 70 | a bug |
| 130 | interrupted with Ctrl-C |
| 141 | whoever read the output stopped reading |

What was asked for goes to stdout, as a table or, with `--json`, as one JSON document. All else goes to stderr: one line
for an error, with `--json` one JSON document with the keys `error`, `message`, `exit_code` and `facts`, and with
`--debug` also `traceback`.
"""

from gatechart.cli.main import main

__all__ = ["main"]
