"""The agents of an engine that an earlier release filled, and the service that hosts them.

`python -m tests.restate.earlier.agents PORT LEDGER PROJECTION PHASE`. LEDGER is a file to which each step that is
really taken adds a line. PHASE: `first` and `last` fill the engine, `later` goes on with what they left. Graphs keep
their structure for as long as the archive is in use: agents go on only with the fingerprints that they were kept with.
"""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import restate
from pydantic import Field

from gatechart import ANY, AgentContext, ConversationContext, Invoke, Migration, State, StateTransitionGraph, Transition
from gatechart.graph.handoff import Accepts, Fallbacks, SameTarget
from gatechart.restate import Terms, serving
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Side

SOON_S = 60
"""Timers and waits of this length outlive the filling, and are over when the archive is used."""

FIRST, LAST, LATER = "first", "last", "later"
RETRIES = {
    FIRST: Retry(attempts=2, first_s=0.05),
    LAST: Retry(attempts=3, first_s=SOON_S, factor=1.0),
    LATER: Retry(attempts=3, first_s=0.05, factor=1.0),
}
NAMESPACE = "earlier"
HELD = {LAST: (f"/invoke/{NAMESPACE}.Capacity/reserve", f"/invoke/{NAMESPACE}.Agent/turns")}
"""Calls of the engine that the service leaves unanswered, so that whoever makes them is caught waiting."""


class Ledger:
    """Where steps leave their lines. is_up: whether what they reach answers."""

    def __init__(self, path, *, is_up):
        self._path = path
        self.is_up = is_up

    def write(self, line):
        with self._path.open("a") as file:
            file.write(f"{line}\n")


class Diary(AgentContext):
    notes: list[str] = Field(default_factory=list)
    text: str = ""


class Dated(Diary):
    currency: str = ""


def note(context, event):
    told = event.payload.get("result", event.payload.get("n", event.payload.get("message", "")))
    context.notes.append(f"{event.name} {json.dumps(told)}")


def keep_text(context, event):
    context.text = "x" * event.payload["size"]


def set_timers(context, event, turn):
    turn.after(timedelta(seconds=SOON_S), "RANG", {"n": "soon"}, key="soon")
    turn.after("36500d", "RANG", {"n": "late"}, key="late")


def tell(context, event, turn):
    for n in range(event.payload["times"]):
        turn.send(event.payload["to"], "NOTED", {"n": n, "text": "x" * event.payload["size"]}, id=f"told-{n}")


def stumble(context, event, turn):
    if not turn.services.is_up:
        raise LookupError("it is not there")
    note(context, event)


async def read(context, work):
    """Two steps, the second of which has no answer before the service is up."""

    async def second():
        while not work.services.is_up:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        work.services.write(f"{work.agent_id} second")
        return "second"

    def first():
        work.services.write(f"{work.agent_id} first")
        return "first"

    return [await work.step("first", first), await work.step("second", second)]


async def try_out(context, work):
    """A step, and a failure behind it until the service is up."""

    def begin():
        work.services.write(f"{work.agent_id} begun")
        return "begun"

    begun = await work.step("begin", begin)
    if not work.services.is_up:
        raise LookupError("it is not there")
    return begun


def diary(name, version="1", context=Diary, rests="RESTING", migrations=()):
    """A graph whose agents write down what happens to them."""
    return StateTransitionGraph(
        name,
        version=version,
        context=context,
        migrations=migrations,
        states=[
            State(rests, after={"36500d": "TIRED"}),
            State("READING", invoke=Invoke(read)),
            State("TRYING", invoke=Invoke(try_out, retry=Retry(attempts=5, first_s=SOON_S, factor=1.0))),
            State("AWAY", after={f"{SOON_S}s": "BACK"}),
            State("FINISHED", final=True),
            State("STRANDED", final=True, failed=True),
        ],
        transitions=[
            *(Transition(ANY, event, actions=note) for event in ("NOTED", "RANG", "error.mail")),
            Transition(ANY, "FILLED", actions=keep_text),
            Transition(ANY, "SET", actions=set_timers),
            Transition(ANY, "TOLD", actions=tell),
            Transition(ANY, "STUMBLED", actions=stumble),
            Transition(rests, "OPENED", "READING"),
            Transition(rests, "TRIED", "TRYING"),
            Transition(rests, "LEFT", "AWAY"),
            Transition(rests, "ENDED", "FINISHED"),
            Transition(rests, "FAILED", "STRANDED"),
            Transition("READING", "done.invoke.read", rests, actions=note),
            Transition("TRYING", "done.invoke.try_out", rests, actions=note),
        ],
        entry_points=[rests],
    )


class Talk(ConversationContext):
    told: list[str] = Field(default_factory=list)


FALLBACKS = {"again": Fallbacks(SameTarget(attempts=9, first_s=SOON_S, factor=1))}


def ask(context, event, turn):
    wanted = dict(event.payload)
    context.say("user", "help me", turn.now)
    fallbacks = FALLBACKS.get(wanted.pop("ladder", ""))
    turn.handoff(wanted.pop("to"), at="WORKING", packet=context.packet(), fallbacks=fallbacks, **wanted)


def hear(context, event):
    context.told.append(event.name)


def taken(turn):
    return next(each.id for each in turn.handoffs if each.side is Side.TOOK)


def solve(context, event, turn):
    turn.complete(taken(turn), {"answer": 42})


def give_up(context, event, turn):
    turn.fail(taken(turn), "no idea")


def is_delegated(context, event):
    return event.payload["mode"] == "delegate"


def talking(name, accepts=Accepts()):  # noqa: B008
    """A graph whose agents hand work on, and do what they are handed."""
    return StateTransitionGraph(
        name,
        context=Talk,
        accepts=accepts,
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=ask),
            Transition("WAITING", "handoff.accepted", guard=is_delegated, actions=hear),
            Transition("WAITING", "handoff.accepted", "TALKING", actions=hear),
            *(
                Transition("WAITING", f"handoff.{how}", "TALKING", actions=hear)
                for how in ("completed", "rejected", "failed", "expired")
            ),
            Transition("WAITING", "LEAVE", "TALKING"),
            Transition("TALKING", "handoff.offered.WORKING", "WORKING"),
            Transition("TALKING", "STUMBLED", actions=stumble),
            Transition("WORKING", "SOLVED", "TALKING", actions=solve),
            Transition("WORKING", "GAVE_UP", "TALKING", actions=give_up),
            Transition("WORKING", "handoff.cancelled", "TALKING", actions=hear),
        ],
        entry_points=["TALKING", "WORKING"],
    )


def convert(stored):
    return replace(stored.renamed({"RESTING": "PATIENT"}), context=stored.context | {"currency": "EUR"})


notes, rare, parcel = diary("notes"), diary("rare"), diary("parcel")
later_parcel = diary("parcel", "2", Dated, "PATIENT", [Migration("1", "2", convert)])
letter, later_letter = diary("letter"), diary("letter", "2", Dated, "PATIENT")
COMMON = (notes, talking("clerk"), talking("helper"), talking("booth", Accepts(capacity=1)), letter)
GRAPHS = {
    FIRST: [*COMMON, parcel, rare],
    LAST: [*COMMON, parcel, later_letter],
    LATER: [*COMMON, later_parcel, later_letter, rare],
}


def holding(app, paths):
    """The application, which never answers what is asked at these paths."""

    async def answer(scope, receive, send):
        if scope.get("path") in paths:
            await asyncio.Event().wait()
        await app(scope, receive, send)

    return answer


async def main(port, ledger, projection, phase):
    app = restate.app
    restate.app = lambda offered: holding(app(offered), HELD.get(phase, ()))
    async with serving(
        f"127.0.0.1:{port}",
        graphs=GRAPHS[phase],
        services=Ledger(Path(ledger), is_up=phase == LATER),
        projection=projection,
        namespace=NAMESPACE,
        terms=Terms(mail_retry=RETRIES[phase], projection_s=0.05, look_again_s=0.5, most_kept_bytes=500_000),
        stops_on_sigterm=True,
    ) as stop:
        await stop.wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
