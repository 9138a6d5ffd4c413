"""Recorded conversations as the events of an agent, in two ways, and loops planted into them.

Thresholds were chosen on one half of the conversations, by the sum of their id, and are tested on the other.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from gatechart import ANY, AgentContext, Invoke, Signals, State, StateTransitionGraph, Transition
from gatechart.signals import handing_on, looping
from gatechart.turn.mail import take_mail
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.trail import digest_of
from tests.support import NOW, started

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sgd" / "dialogues.jsonl.gz"
JITTER = ("at", "request_id")
"""Fields that differ each time and make no difference."""


@dataclass(frozen=True)
class Said:
    """An event of a conversation."""

    name: str
    payload: dict[str, Any] = field(default_factory=dict)
    is_own: bool = False  # sent by the agent itself

    @property
    def is_call(self) -> bool:
        return self.name == "trail.call"

    @property
    def is_work(self) -> bool:
        return self.name.endswith(".WORKING")


def conversations(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def file_of_conversations() -> Path:
    return Path(os.environ.get("GATECHART_CONVERSATIONS") or SHARED)


def is_for_tests(conversation: dict[str, Any]) -> bool:
    return bool(crc32(conversation["id"].encode()) % 2)


def goes_well(conversation: dict[str, Any]) -> bool:
    return not any(act["act"] == "NOTIFY_FAILURE" for _, frame in frames(conversation) for act in frame["acts"])


def frames(conversation: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for turn in conversation["turns"]:
        for frame in turn["frames"]:
            if frame["acts"]:
                yield turn, frame


def by_act(conversation: dict[str, Any]) -> Iterator[Said]:
    """Each act is an event of its own that leads to a state for it in the service, and each call is told."""
    for turn, frame in frames(conversation):
        yield from told_call(frame)
        for act in frame["acts"]:
            is_user = turn["speaker"] == "user"
            slots = {act["slot"]: act.get("values", [])} if "slot" in act else {}
            text = {"text": turn["text"]} if is_user and act is frame["acts"][0] else {}
            yield Said(f"{frame['service']}.{act['act']}", slots | text, is_own=not is_user)


def by_intent(conversation: dict[str, Any]) -> Iterator[Said]:
    """What the user says leads to the state of the intent, and a call to one where the agent works, and back."""
    intent, state = "NONE", ""
    for turn, frame in frames(conversation):
        slots = {act["slot"]: act.get("values", []) for act in frame["acts"] if "slot" in act}
        if turn["speaker"] == "user":
            intent = frame.get("intent", intent)
            state = f"{frame['service']}.{intent}"
            yield Said(state, slots | {"text": turn["text"]})
        elif frame.get("call"):
            yield Said(f"{frame['service']}.WORKING", is_own=True)
            yield from told_call(frame)
            yield Said(state, {"results": frame["results"]}, is_own=True)


def told_call(frame: dict[str, Any]) -> Iterator[Said]:
    if not frame.get("call"):
        return
    failed = any(act["act"] == "NOTIFY_FAILURE" for act in frame["acts"])
    told = {"tool": frame["call"]["method"], "arguments": frame["call"]["parameters"], "ok": not failed}
    yield Said("trail.call", told | {"outcome": f"{frame['results']} results", "error": "Failed" if failed else ""})


WAYS = (by_act, by_intent)


def planted(events: Sequence[Said], draw: Random) -> list[Said]:
    """A block of up to ten events three times in a row where it is: one that goes round, or in which a tool is called.

    It goes round if it leads through several states, or if the agent leads itself back to the only one.
    """
    while True:
        length = draw.randint(1, min(10, len(events)))
        at = draw.randint(0, len(events) - length)
        while at + length < len(events) and events[at + length - 1].is_work:
            length += 1  # whoever works makes the call, and tells of it
        block = list(events[at : at + length])
        if len({each.name for each in block}) > 1 or block[0].is_own or block[0].is_call:
            return [*events[:at], *block * 3, *events[at + length :]]


def graph_of(conversations: Iterable[dict[str, Any]]) -> StateTransitionGraph[AgentContext]:
    """A state for each of their events, to which it leads from anywhere."""
    said = (each.name for one in conversations for way in WAYS for each in way(one))
    names = sorted({each for each in said if not each.startswith("trail.")})
    return StateTransitionGraph(
        "conversation",
        context=AgentContext,
        states=[
            State("BEGINNING"),
            *(State(each, invoke=[Invoke(work)] if Said(each).is_work else ()) for each in names),
        ],
        transitions=[Transition(ANY, each, each) for each in names],
        entry_points=["BEGINNING"],
        signals=Signals(handing_on() + looping(), ignore=JITTER),
    )


async def work(context: AgentContext, work: object) -> None:
    """Never called: the events say what came of it."""


async def alarms(graph: StateTransitionGraph[Any], events: Iterable[Said], jitter: Random) -> list[str]:
    """The signals that fire. Users take 20 seconds for an answer, the agent one."""
    record, time = await started(graph), NOW
    found = []
    for said in events:
        time += timedelta(seconds=1 if said.is_own or said.is_call else 20)
        taken = await take_mail(graph, record.snapshot, event_of(said, time, jitter, record.snapshot))
        assert isinstance(taken, TurnRecord), taken
        record = taken
        if record.fired is not None:
            found += [record.fired.signal, *(each["signal"] for each in record.fired.others)]
    return found


def event_of(said: Said, time: datetime, jitter: Random, snapshot: Snapshot) -> Event:
    noise = {"at": time.isoformat(), "request_id": jitter.random()}
    payload = said.payload | noise
    if said.is_call:
        arguments = digest_of(said.payload["arguments"] | noise, JITTER)
        payload = said.payload | {"arguments": arguments, "time_ms": round(time.timestamp() * 1000)}
    return Event(said.name, payload, time, sender=snapshot.agent_id if said.is_own else None)
