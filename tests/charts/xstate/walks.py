"""Random walks through machines of XState: by XState itself, in node, and by their graphs."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import takewhile
from pathlib import Path
from random import Random
from shutil import which
from typing import Any, Final

from ruamel.yaml import YAML

from gatechart.charts import load
from gatechart.errors import MailFailedError, MicrostepLimitError
from gatechart.testing import rehearse

HERE: Final = Path(__file__).parent
MODULE: Final = HERE.parents[2] / "build/xstate/node_modules/xstate/dist/xstate.esm.js"
WALKS: Final = 30  # through each machine
LENGTH: Final = 10  # events of a walk


@cache
def written() -> dict[str, Any]:
    """The machines by name, each with a context, and with its name as its id."""
    machines = YAML(typ="safe", pure=True).load((HERE / "machines.yaml").read_text())
    return {
        name: {**machine, "id": name, "context": {"notes": [], **machine.get("context", {})}}
        for name, machine in machines.items()
    }


def missing() -> str:
    """Why there is nothing to compare with; empty if there is."""
    if which("node") is None:
        return "XState's dialect: node is missing"
    return "" if MODULE.exists() else "XState's dialect: XState is missing, `make xstate` installs it"


def values(part, key):
    """All that stands under a key anywhere in a machine, the entries of lists one by one."""
    if isinstance(part, list):
        for each in part:
            yield from values(each, key)
    elif isinstance(part, dict):
        for name, each in part.items():
            if name == key:
                yield from each if isinstance(each, list) else [each]
            yield from values(each, key)


def names(machine, key):
    return sorted({each for each in values(machine, key) if isinstance(each, str)})


def story(machine, random):
    """Some events that the machine knows, one that it does not, and time that passes."""
    told = sorted({event for on in values(machine, "on") for event in on if not event.startswith("xstate.")})
    sent = [event.replace("*", "z") for event in told] + ["UNKNOWN"]
    ends = [f"{kind}.{invoke['id']}" for invoke in values(machine, "invoke") for kind in ("done", "error")]
    guards = names(machine, "guard")
    delays = sorted({int(delay) for after in values(machine, "after") for delay in after})
    choices = [*sent, *ends, *delays, *([delays[0] // 200 * 100] if delays and delays[0] >= 200 else [])]
    for chosen in random.choices(choices, k=LENGTH):
        if isinstance(chosen, int):
            yield {"advance": chosen}
        else:
            yes = [guard for guard in guards if random.random() < 0.5]
            kind, _, id_ = chosen.partition(".")
            event = f"xstate.{kind}.actor.{id_}" if chosen in ends else chosen
            yield {"type": event, "yes": yes}


def stories(name, machine):
    random = Random(name)
    return [list(story(machine, random)) for _ in range(WALKS)]


def by_xstate(walks):
    """What follows the beginning and each event of each walk, a pair of a machine and events."""
    asked = {"module": str(MODULE), "walks": [{"machine": machine, "events": events} for machine, events in walks]}
    node = which("node")
    assert node is not None
    command = [node, "--max-old-space-size=1000", str(HERE / "walks.mjs")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lives = json.loads(done.stdout)
    return [list(takewhile(lambda each: each["status"] != "error", life)) for life in lives]


def by_gatechart(machine, walks):
    """The same by the machine's graph."""
    return by_graph(load(json.dumps(machine), dialect="xstate", bind=bound(machine)), walks)


def by_graph(graph, walks):
    """What a graph shows at the beginning and after each event of each walk."""
    return asyncio.run(_lives(graph, walks))


async def _lives(graph, walks):
    return [[each async for each in _life(graph, events)] for events in walks]


async def _life(graph, events):
    """What follows each event, until a turn would not end."""
    with suppress(MicrostepLimitError, MailFailedError):
        async with rehearse(graph, as_framework=True) as agent:
            yield _shown(agent)
            for event in events:
                if "advance" in event:
                    await agent.advance(event["advance"] / 1000)
                else:
                    name = event["type"].replace("xstate.done.actor.", "done.invoke.")
                    name = name.replace("xstate.error.actor.", "error.invoke.")
                    await agent.send(name, {"yes": event["yes"]})
                yield _shown(agent)


def _shown(agent):
    return {"leaves": agent.leaves, "status": agent.snapshot.status.value, "context": agent.context.model_dump()}


def note(context, event, what):
    context.notes.append(what)


def add(context, event, field, amount):
    setattr(context, field, getattr(context, field) + amount)


def raise_(context, event, turn, name):
    turn.raise_event(name)


def below(context, event, field, limit):
    return getattr(context, field) < limit


async def never_ends(context, work):
    await asyncio.Event().wait()


def says_yes(name):
    return lambda context, event: name in event.payload.get("yes", ())


def bound(machine):
    """What the names of a machine stand for."""
    guards = {name: says_yes(name) for name in names(machine, "guard")}
    actors = dict.fromkeys(names(machine, "src"), never_ends)
    return {**guards, **actors, "note": note, "add": add, "raise": raise_, "below": below}


def leaf_names(machine, paths):
    """Name leaves as graphs do: by their keys, those that occur twice by their paths."""
    often = Counter(key for states in values(machine, "states") for key in states)
    return tuple((path[-1] if often[path[-1]] == 1 else ".".join(path)) if path else machine["id"] for path in paths)
