"""Processes that are killed, each forked from one that has imported everything, which takes longer than their lives.

`python -m tests.crash.forked_processes` reads lines of JSON: a module of this folder, the arguments of its `main`, and
the files that become its standard output and error. It answers each with the process's id, then with how it ended.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = (
    "breaker_agents",
    "calling_agents",
    "choosing_agents",
    "dead_mail_agents",
    "fault_points",
    "fleet",
    "recurring_agents",
    "relay",
    "talking_agents",
    "waiting_agents",
)


class ForkedProcesses:
    """A process that forks others, one at a time; it ends with its standard input."""

    def __init__(self):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        command = [sys.executable, "-m", __spec__.name]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=plain
        )

    def begin(self, module, *arguments, output=os.devnull, errors=os.devnull):
        """Begin a life of a module, and return its process id; `end` waits for it."""
        told = {"module": module, "arguments": [*map(str, arguments)], "output": str(output), "errors": str(errors)}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self):
        """Wait until the life that began last is over, and return how it ended, as `Popen.returncode`."""
        return int(self._process.stdout.readline())

    def live(self, module, *arguments, **files):
        """Let a module live to its end, and return how that was."""
        self.begin(module, *arguments, **files)
        return self.end()

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def serve():
    """Fork a process for each line."""
    modules = {name: import_module(f"tests.crash.{name}") for name in MODULES}
    for line in sys.stdin:
        told = json.loads(line)
        child = os.fork()
        if child == 0:
            _live(modules[told["module"]], told)
        print(child, flush=True)  # noqa: T201
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


def _live(module, told):
    for number, name in enumerate((os.devnull, told["output"], told["errors"])):
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
    try:
        module.main(*told["arguments"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    serve()
