"""A PostgreSQL server of the tests' own: loopback, a temporary folder, an unprivileged user."""

import asyncio
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import asyncpg

from tests.ports import free_ports

NEEDED = ("initdb", "postgres")
LOOSE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
SAFE = ("fsync=on", "synchronous_commit=on")
BEGUN_S = 30.0

EMPTIED = """
DELETE FROM steps; DELETE FROM invokes; DELETE FROM history; DELETE FROM agents; DELETE FROM mail;
DELETE FROM handoffs; DELETE FROM places; DELETE FROM graphs; DELETE FROM owner; DELETE FROM requests;
DELETE FROM searchable; DELETE FROM found_values; DELETE FROM breakers; DELETE FROM hosts;
SELECT setval('mail_number_seq', 1, false), setval('handoffs_key_seq', 1, false), setval('history_key_seq', 1, false),
    setval('invokes_key_seq', 1, false), setval('requests_number_seq', 1, false)
"""
END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"


class NoServerError(Exception):
    """There is no server to be had on this machine; the text says why."""


def binaries():
    """The folder with the server's programs. Raises NoServerError."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all((folder / name).exists() for name in NEEDED):
            return folder
    raise NoServerError("PostgreSQL's server is not installed (Debian's package is postgresql)")


def user():
    """Who runs the server: this user, or for root, as whom the server does not run, one with fewer rights."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoServerError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def dies_with_its_parent():
    """In a child, on Linux: told to end when the tests are killed."""
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def children_of(pid):
    """The processes that a process has started, on Linux."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def state_of(pid):
    """What a process does, on Linux, as `ps` tells it: T is stopped; X, as Z is, is ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def is_alive(pid):
    """Whether a process runs, on Linux; one that nobody has buried does not."""
    return state_of(pid) not in "ZX"


class Server:
    """A server that runs inside `with`."""

    def __init__(self, *settings, folder=None):
        self._bin = binaries()
        self._as = user()
        self._settings = settings
        self.folder = Path(tempfile.mkdtemp(prefix="gatechart-pg-", dir=folder))
        self._process = None
        self._made = 0
        self._free = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._kept = {}  # connections to databases that are used again
        (self.port,) = free_ports(1)

    def __enter__(self):
        self.thread.start()
        try:
            self._create()
            self.start()
        except BaseException:  # nobody calls `__exit__` then
            self.__exit__()
            raise
        return self

    def _create(self):
        """Makes the folder in which the server keeps everything."""
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        if self._as:
            shutil.chown(self.folder, self._as["user"], self._as["group"])
            shutil.chown(data, self._as["user"], self._as["group"])
        command = ["initdb", "-D", data, "-U", "gatechart", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        made = subprocess.run(
            [self._bin / command[0], *command[1:]],
            **self._as,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise NoServerError(f"initdb failed: {made.stderr}")

    def __exit__(self, *_):
        for connection in self._kept.values():
            self._do(self._closed(connection))
        self.stop(signal.SIGQUIT)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        """Starts the server, and returns when it answers."""
        settings = (*self._settings, "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60")
        options = [part for setting in settings for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options],
                **self._as,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=dies_with_its_parent,  # noqa: PLW1509  before any thread of the test's
            )
        deadline = time.monotonic() + BEGUN_S
        while True:
            try:
                return self.ask("SELECT 1")
            except (OSError, asyncpg.PostgresError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise NoServerError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    begin = start  # as all do that are killed and begin again

    def stop(self, how=signal.SIGINT):
        """Ends the server: SIGINT cuts connections and ends in order, SIGQUIT is as a crash."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(BEGUN_S)

    def kill(self):
        """Kills the server and all its children, as the system does that runs out of memory."""
        self._process.send_signal(signal.SIGSTOP)  # so that it starts no more of them
        children = children_of(self._process.pid)
        for process in (self._process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait(BEGUN_S)
        deadline = time.monotonic() + BEGUN_S
        while any(map(is_alive, children)) and time.monotonic() < deadline:  # they share memory with the next
            time.sleep(0.005)

    def signal(self, how):
        """Sends a signal to the server and its children."""
        for process in (self._process.pid, *children_of(self._process.pid)):
            os.kill(process, how)

    def ask(self, sql, *values, database="postgres"):
        """The rows of a statement."""
        return self._do(self._asked(sql, values, database))

    def url(self, database):
        """The URL with which gatechart opens a database."""
        return f"postgresql+asyncpg://gatechart@127.0.0.1:{self.port}/{database}"

    def new(self):
        """The name of a new, empty database."""
        self._made += 1
        name = f"agents_{self._made}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def borrowed(self):
        """The name of a database with gatechart's tables, all empty; given back with `back`."""
        if self._free:
            return self._free.pop()
        from gatechart.stores import upgrade_store  # what is measured of it is measured elsewhere

        name = self.new()
        self._do(upgrade_store(self.url(name)))
        self._kept[name] = self._do(self._connected(name))
        self._do(self._emptied(name))  # of who has upgraded it
        return name

    def back(self, name):
        """Takes a database back, whatever was done to it but for other tables."""
        self._do(self._emptied(name))
        self._free.append(name)

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _connected(self, database):
        return await asyncpg.connect(host="127.0.0.1", port=self.port, user="gatechart", database=database)

    async def _closed(self, connection):
        await connection.close(timeout=5)

    async def _asked(self, sql, values, database):
        connection = await self._connected(database)
        try:
            return [tuple(row) for row in await connection.fetch(sql, *values)]
        finally:
            await connection.close()

    async def _emptied(self, name):
        if self._kept[name].is_closed():
            self._kept[name] = await self._connected(name)
        connection = self._kept[name]
        while await connection.fetch(END_SESSIONS, name):  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)
        await connection.execute(EMPTIED)
