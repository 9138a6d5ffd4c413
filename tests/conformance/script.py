"""What a document is expected to do, as the comment at its head says.

The first line names the section of the standard and what it asserts. Then come steps: `start: <leaves>`,
`<event> <payload as JSON, if any>: <leaves>`, `+<seconds>s: <leaves>` lets time go on, `? <variable>: <value as JSON>`
looks at the data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.scxml"))
_STEP = re.compile(
    r"(?:\+(?P<seconds>[\d.]+)s|\? (?P<variable>\w+)|(?P<event>\S+?)(?P<payload> \{.*\})?): (?P<then>.+)"
)


@dataclass(frozen=True)
class Script:
    """A document with its steps."""

    path: Path
    about: str
    steps: tuple[re.Match[str], ...]


def script_of(path: Path) -> Script:
    comment = path.read_text().partition("<!--")[2].partition("-->")[0]
    about, *lines = comment.strip().splitlines()
    steps = [_STEP.fullmatch(line.strip()) for line in lines]
    assert all(steps), f"{path.name} has a line that is no step"
    return Script(path, about, tuple(step for step in steps if step))


async def play(script, rehearsal) -> None:
    """Takes step after step and compares."""
    for step in script.steps:
        told = f"{script.path.name}, {script.about}\n{step[0]}"
        if step["variable"]:
            assert getattr(rehearsal.context, step["variable"]) == json.loads(step["then"]), told
            continue
        if step["seconds"]:
            await rehearsal.advance(float(step["seconds"]))
        elif step["event"] != "start":
            await rehearsal.send(step["event"], json.loads(step["payload"] or "{}"))
        assert list(rehearsal.leaves) == step["then"].split(), told
