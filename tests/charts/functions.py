"""What the charts of these tests are bound to."""

from __future__ import annotations

from pydantic import BaseModel

from gatechart import AgentContext, ConversationContext


class Case(AgentContext):
    query: str = ""
    retries: int = 0


class CaseFile(BaseModel):
    query: str


class Brought(BaseModel):
    text: str


def is_ready(context, event):
    return context.retries == 0


def is_below(context, event, limit):
    return context.retries < limit


def is_alone(context, event, configuration):
    return len(configuration) == 1


def note(context, event):
    context.query = event.name


def add(context, event, amount=1):
    context.retries += amount


async def look_up(context, event):
    context.query = "looked up"


async def search(context, work):
    return context.query


def wait(context, work, for_s=1):
    return for_s


def result(context, event):
    return {"query": context.query}


def tell(context, event):
    return ConversationContext(current_problem=context.query).packet()


def living(context, event, who="a1"):
    return who


def is_welcome(packet, most=3):
    return len(packet.path) <= most


def filled(payload):
    return {"query": payload.text}
