"""How long a person waits before anything happens, each time in a fresh interpreter."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round

COMMAND = Path(sys.executable).with_name("gatechart")


def importing(modules: str) -> Round:
    """Rounds that give the seconds the import takes, the interpreter's own start left out."""
    program = f"from time import perf_counter as now; began = now(); import {modules}; print(now() - began)"

    async def one_round(_effort: Effort) -> float:
        return float(await _output([sys.executable, "-c", program]))

    return one_round


def running(*command: str) -> Round:
    """Rounds that give the seconds a command takes from its start to its end."""

    async def one_round(_effort: Effort) -> float:
        began = perf_counter()
        await _output(command)
        return perf_counter() - began

    return one_round


async def _output(command: Sequence[str]) -> str:
    """What the command prints. It does not hear Ctrl-C, and is ended with its waiter."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {err.decode()[-500:]}")
    return out.decode()


imports = Measure(
    "imports",
    "Importing, in a fresh interpreter",
    "s",
    Better.LOWER,
    (
        Contestant(
            "pydantic and sqlalchemy.ext.asyncio alone", importing("pydantic, sqlalchemy.ext.asyncio"), Role.RAW
        ),
        Contestant("gatechart", importing("gatechart"), target=0.4),
        Contestant("transitions.extensions.asyncio", importing("transitions.extensions.asyncio"), Role.PEER),
        Contestant("statemachine", importing("statemachine"), Role.PEER),
    ),
)

commands = Measure(
    "commands",
    "A command, from its start to its end",
    "s",
    Better.LOWER,
    (
        Contestant("python -c pass", running(sys.executable, "-c", "pass"), Role.RAW),
        Contestant("gatechart --help", running(str(COMMAND), "--help"), target=0.6),
    ),
)
