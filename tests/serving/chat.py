"""An application that streams what a model says, in a module that a process of its own can load; and the model."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from gatechart import AgentContext, Invoke, State, StateTransitionGraph, Transition
from gatechart.serving import listening

MODEL = "CHAT_MODEL"  # the environment variable with the model's URL


class Chat(AgentContext):
    answer: str = ""


async def think(context, work):
    url, text = work.services if isinstance(work.services, str) else os.environ[MODEL], ""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http, http.stream("POST", url) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                token = json.loads(line.removeprefix("data: "))
                work.publish(token)
                text += token
    return text


def keep(context, event):
    context.answer = event.payload["result"]


chat = StateTransitionGraph(
    "chat",
    context=Chat,
    states=[State("THINKING", invoke=Invoke(think))],
    transitions=[
        Transition("LISTENING", "ASKED", "THINKING"),
        Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep),
        Transition("THINKING", "INTERRUPTED", "LISTENING"),
    ],
    entry_points=["LISTENING", "THINKING"],
)


class Model:
    """A model that answers with server-sent events: with the next token whenever a test lets it."""

    def __init__(self, *tokens):
        self.url = ""
        self.calls = 0
        self._tokens = tokens
        self._let = asyncio.Semaphore(0)

    def say(self, count=1):
        """Lets the call under way have so many more tokens."""
        for _ in range(count):
            self._let.release()

    async def answer(self, request):
        self.calls += 1
        return StreamingResponse(self._said(), media_type="text/event-stream")

    async def _said(self):
        for token in self._tokens:
            await self._let.acquire()
            yield f"data: {json.dumps(token)}\n\n"


@asynccontextmanager
async def model_of(*tokens):
    """A model behind a real server on loopback."""
    model = Model(*tokens)
    application = Starlette(routes=[Route("/", model.answer, methods=["POST"])])
    async with listening(application, host="127.0.0.1", port=0, has_token=False, grace_s=0.1) as server:
        model.url = server.url
        yield model
