"""A model that answers from a script, and the services of its agents."""

from dataclasses import dataclass, field

from gatechart import Runtime, ToolBox
from gatechart.errors import ModelFailedError
from gatechart.handoff import Message, ToolCall
from gatechart.models import Finish, ModelReply
from tests.models.support import chat


@dataclass
class Script:
    """A model that answers by a script of replies, or of errors."""

    replies: list
    requests: list = field(default_factory=list)

    async def reply(self, request):
        self.requests.append(request)
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


def reply(text="", *calls, finish=None, reason="", **more):
    made = tuple(ToolCall(name=name, arguments=arguments, id=call_id) for name, arguments, call_id in calls)
    usual = Finish.CALLS if made else Finish.ANSWERED
    return ModelReply(
        message=Message(role="agent", content=text, tool_calls=made, **more), finish=finish or usual, reason=reason
    )


class Services:
    def __init__(self, script, *tools):
        self.model, self.tools, self.ran = script, ToolBox(tools), []


async def asked(loop, replies, *tools, state="LISTENING"):
    """The agent after its first question, the model, and the runtime's services."""
    script = Script(replies)
    services = Services(script, *tools)
    async with Runtime.open("memory:", graphs=chat(loop), services=services) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Purge."})
        await agent.until(state)
        payloads = [each.event.payload for each in await agent.history() if ".invoke." in each.event.name]
        return await runtime.resume("a"), script, payloads[-1]


def refuses(code="invalid_request", **more):
    return ModelFailedError("it is wrong", code, is_permanent=True, **more)
