"""Processes that are forked from one that has imported everything, which takes longer than most of them live.

In all else they are as any: with an id, signals, files of their own, and an interpreter that begins `main` and ends.
`python -m tests.forked FD` is what they are forked from. It reads from a socket what to call, a line of JSON, with four
files: the three standard ones, and a socket on which it answers with the process's id, then with how it ended. Tests
that say of a child what it imports, or measure it, begin it as any program is begun.
"""

import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from select import select
from threading import Lock

import gatechart

ROOT = Path(__file__).parents[1]
PIPE = subprocess.PIPE
COMMAND = "gatechart.cli:main"
OTHER_MODULES = ("sqlalchemy.dialects.postgresql.asyncpg", "sqlalchemy.dialects.sqlite.aiosqlite", "typer.main")
NUMBER = struct.Struct("i")


class Forked:
    """A process, with what `subprocess.Popen` has of one whose pipes carry text."""

    def __init__(self, arguments, streams, answers):
        self.args = arguments
        self.stdin, self.stdout, self.stderr = streams
        self.returncode = None
        self._answers = answers
        self._one_reads = Lock()
        self.pid = self._answer()

    def _answer(self):
        return NUMBER.unpack(self._answers.recv(NUMBER.size))[0]

    def poll(self):
        """Return how it ended; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """Return how it ended, once it has. Raises subprocess.TimeoutExpired."""
        if self.returncode is None and not select([self._answers], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout)
        with self._one_reads:
            if self.returncode is None:
                self.returncode = self._answer()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, text="", timeout=None):
        """Write the text, and return what came on stdout and stderr, once it has ended; it is killed if it does not."""
        with ThreadPoolExecutor(2) as readers:
            told = [stream and readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            if self.stdin:
                with suppress(BrokenPipeError), self.stdin as given:
                    given.write(text)
            try:
                self.wait(timeout)
            except BaseException:
                self.kill()
                raise
        return tuple(each and each.result() for each in told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in filter(None, (self.stdin, self.stdout, self.stderr)):
            with suppress(BrokenPipeError):
                stream.close()
        self.wait()
        self._answers.close()


def fork(call, *arguments, cwd=None, env=None, stdin=None, stdout=None, stderr=None):
    """Begin a process that calls a function with the arguments, as text, and exits with what it returns.

    call: such as "tests.crash.fleet:main"; COMMAND finds its arguments on its command line. The rest is as for
    `subprocess.Popen`, with PIPE for text.
    """
    ours, theirs = zip(*map(_ends, range(3), (stdin, stdout, stderr)), strict=True)
    module, _, function = call.partition(":")
    told = {
        "module": module,
        "function": function,
        "is_command": call == COMMAND,
        "arguments": [*map(str, arguments)],
        "cwd": str(cwd or Path.cwd()),
        "environment": dict(env or os.environ),
    }
    answers, answering = socket.socketpair()
    with answering:
        socket.send_fds(_requests(), [json.dumps(told).encode() + b"\n"], [*theirs, answering.fileno()])
    _close(theirs)
    return Forked([call, *arguments], ours, answers)


def _ends(number, file):
    """Our end of a standard file, if it is a pipe, and the end that the process gets."""
    if file is PIPE:
        read, write = os.pipe()
        ours, theirs, mode = (read, write, "r") if number else (write, read, "w")
        return os.fdopen(ours, mode, encoding="utf-8"), theirs
    if file is None:
        return None, os.dup(number)
    return None, os.dup(file if isinstance(file, int) else file.fileno())


@cache
def _requests():
    """Where to ask the process that others are forked from, which begins with the first of them."""
    ours, theirs = socket.socketpair()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    with theirs:
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        server = subprocess.Popen(command, cwd=ROOT, env=plain, pass_fds=[theirs.fileno()])

    @atexit.register
    def end():
        ours.close()
        server.wait()

    return ours


def serve(requests):
    """Fork a process for each request, until there will be none."""
    _import_everything()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody need wait for the guards
    while request := _received(requests):
        if os.fork() == 0:
            requests.close()
            _guard(*request)
        _close(request[1])


def _received(requests):
    """What to call, and the files; nothing once nobody asks any more."""
    text, files, *_ = socket.recv_fds(requests, 1 << 16, 4)
    while text and not text.endswith(b"\n"):
        text += requests.recv(1 << 16)
    if not text:
        return None
    told = json.loads(text)
    import_module(told["module"])  # here, so that it is there for the next of its kind
    return told, files


def _import_everything():
    for module in pkgutil.walk_packages(gatechart.__path__, "gatechart."):
        with suppress(ImportError):  # an extra is missing
            import_module(module.name)
    for name in OTHER_MODULES:
        import_module(name)
    gc.collect()
    gc.freeze()  # so that processes do not copy what the collector would look at


def _guard(told, files):
    """Begin the process, tell its id, wait for its end, and tell how that was."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        _live(told, files)
    answers = socket.socket(fileno=files.pop())
    _close(files)
    with suppress(BrokenPipeError):
        answers.send(NUMBER.pack(process))
        answers.send(NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))
    os._exit(0)


def _live(told, files):
    """Be what a new process of that kind would be."""
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    _close(files)
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["environment"])
    sys.path[:1] = [told["cwd"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv[1:] = told["arguments"]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    function = getattr(sys.modules[told["module"]], told["function"])
    sys.exit(function() if told["is_command"] else function(*told["arguments"]))


def _close(files):
    for file in files:
        os.close(file)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
