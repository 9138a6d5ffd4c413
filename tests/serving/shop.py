"""An application whose schemas say all that it checks, in a module that a process of its own can load."""

import asyncio
from datetime import date

from pydantic import BaseModel, Field

from gatechart import ANY, AgentContext, EntryPoint, Invoke, OnRefusal, State, StateTransitionGraph, Transition


class Order(BaseModel):
    name: str = Field(min_length=1, max_length=40)
    urgency: int = Field(1, ge=0, le=9)
    due: date | None = None


class Desk(AgentContext):
    name: str = ""
    urgency: int = 0
    due: date | None = None
    count: int = 0
    notes: list[str] = Field(default_factory=list)


def count(context, event):
    context.count += 1


def note(context, event):
    context.notes.append(str(event.payload.get("note", "")))


def jam(context, event):
    raise ValueError("no paper")


async def dawdle(context, event):
    await asyncio.sleep(event.payload.get("seconds", 0.5))


async def search(context, work):
    return "found"


async def search_long(context, work):
    await asyncio.Event().wait()


shop = StateTransitionGraph(
    "shop",
    context=Desk,
    searchable=["name", "count"],
    states=[
        State("SEARCHING", invoke=Invoke(search)),
        State("SEARCHING_LONG", invoke=Invoke(search_long)),
        State("CLOSED", final=True),
        State("BROKEN", final=True, failed=True),
    ],
    transitions=[
        Transition("OPEN", "COUNTED", actions=count),
        Transition("OPEN", "NOTED", actions=note),
        Transition("OPEN", "JAMMED", actions=jam),
        Transition("OPEN", "DAWDLED", actions=[dawdle, count]),
        Transition("OPEN", "ASKED", "SEARCHING"),
        Transition("SEARCHING", "done.invoke.search", "OPEN"),
        Transition("SEARCHING_LONG", "done.invoke.search_long", "OPEN"),
        Transition(ANY, "LEFT", "CLOSED"),
        Transition(ANY, "BROKE", "BROKEN"),
    ],
    entry_points=[EntryPoint("OPEN", opens_on=["CALLED", "WRITTEN"], takes=Order), "SEARCHING", "SEARCHING_LONG"],
)
strict = StateTransitionGraph(
    "strict",
    states=[State("GONE", final=True)],
    transitions=[Transition("WAITING", "LEFT", "GONE")],
    entry_points=[EntryPoint("WAITING", opens_on="WRITTEN")],
    on_refusal=OnRefusal.RAISE,
)
graphs = (shop, strict)
