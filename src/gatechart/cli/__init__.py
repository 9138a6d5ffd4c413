"""The command line, `gatechart`: check and draw graphs; start, host and inspect agents.

Exit codes, for scripts:

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | not done: the event was refused; or `migrate`, `replay`, `show`, `run` or `handoff` found a problem |
| 2 | wrong command line |
| 3 | wrong definition: a graph, the app, or an error that `check` found |
| 4 | wrong at this moment: an unknown agent, an invalid payload, an action that raised |
| 5 | failure outside: the database, a file, Graphviz, a disk that is too full for the output |
| 6 | `doctor` found something that is worth a look |
| 7 | `doctor` found something critical |
| 8 | an agent could not escape a loop, and ended as failed (`show`, `send`) |
| 70 | a bug |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of the output closed the pipe |

Results go to stdout, as tables or, with `--json`, as one JSON document. Everything else goes to stderr: an error is one
line or, with `--json`, one JSON document with the keys `error`, `message`, `exit_code` and `facts`, and
with `--debug` also `traceback`.
"""

from gatechart.cli.main import main

__all__ = ["main"]
