# ruff: noqa: T201  a child answers by printing
"""What the tests of the stores do in processes of their own."""

import asyncio
import os
import resource
import signal
import sys
import tempfile
import time

from gatechart.errors import GatechartError
from gatechart.stores import open_store
from gatechart.testing.records import going_on, started
from gatechart.values.homes import Role
from gatechart.values.queries import Query

NOBODY = 65534


async def own(url):
    """Owns the database until a line comes in, or the process is killed."""
    async with open_store(url) as store:
        await store.commit([started("a")])
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


async def obey(url):
    """Owns the database and starts the agents whose ids come in, a line each; `!` freezes it in a transaction."""
    async with open_store(url) as store:
        print("open", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            try:
                if line == "!":
                    await store.write(freeze)
                print(*(verdict.value for verdict in await store.commit([started(line)])), flush=True)
            except GatechartError as error:
                print(type(error).__name__, flush=True)


def freeze(_connection):
    """Stops this process until it is told to go on."""
    print("inside", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.5)  # the signal reaches the thread that it likes, and this one a moment later


async def visit(access, *urls):
    """Opens databases without a superuser's rights, to write or to read; prints for each its agents, or the error."""
    with tempfile.TemporaryDirectory() as folder:  # imports all that opening imports, while it can be read
        async with open_store(f"sqlite+aiosqlite:///{folder}/x.db") as store:
            await store.commit([started("a")])
    if os.getuid() == 0:
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)  # with a way back for what runs at the end, such as the coverage's
    for url in urls:
        try:
            print(*await agents_at(url, access))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    os.setresuid(*[os.getresuid()[2]] * 3)


async def agents_at(url, access):
    async with open_store(url, role=Role.READER if access == "read" else Role.OWNER) as store:
        if access == "write":
            await store.commit([started("b")])
        return [snapshot.agent_id for snapshot in (await store.find(Query())).agents]


async def fill(url):
    """Commits a megabyte where no file may grow; prints the error, and what stands before and after room is made."""
    async with open_store(url) as store:
        first = started("a")
        await store.commit([first])
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
        turn = going_on(first, "TOLD", context={"text": "x" * 1_000_000})
        try:
            await store.commit([turn])
        except GatechartError as error:
            print(f"{type(error).__name__}: {error}")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        print((await store.load("a")).version, len(await store.history("a")))
        await store.commit([turn])
        print((await store.load("a")).version, len(await store.history("a")))


def main(deed, *arguments):
    """Do what is asked for: own, obey, fill or visit."""
    asyncio.run({"own": own, "obey": obey, "visit": visit, "fill": fill}[deed](*arguments))
