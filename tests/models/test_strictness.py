"""Whether a model is held to the schema of a tool: the tool says so before the loop, the loop before the model."""

from typing import Any

import pytest

from gatechart import ModelLoop, Runtime, tool
from gatechart.models import AnthropicModel, OpenAIModel
from gatechart.testing.scripted_model import Says, scripted_model
from tests.models.support import Services, chat


@pytest.mark.parametrize("dialect", [OpenAIModel, AnthropicModel])
@pytest.mark.parametrize(
    ("by_tool", "by_loop", "by_model", "is_strict"),
    [
        (None, None, None, True),
        (None, None, False, False),
        (None, True, False, True),
        (None, False, True, False),
        (True, False, False, True),
        (False, True, True, False),
    ],
    ids=["by default", "the model's", "the loop's", "the loop's no", "the tool's", "the tool's no"],
)
async def test_the_nearest_setting_wins(
    dialect: Any, by_tool: Any, by_loop: Any, by_model: Any, is_strict: bool
) -> None:
    @tool(name="look", strict=by_tool, repeat="safe")
    async def look(order: str) -> str:
        """Look an order up."""
        return order

    async with scripted_model([Says("Hello.")]) as server:
        services = Services(server, look)
        services.model = dialect("m", url=server.url, strict=by_model)
        graph = chat(ModelLoop(tools=["look"], strict=by_loop))
        async with Runtime.open("memory:", graphs=graph, services=services) as runtime:
            agent = await runtime.start("chat", at="LISTENING")
            await agent.send("ASKED", {"text": "Hi"})
            await agent.until("LISTENING")
    (offered,) = server.requests[0]["tools"]
    assert bool(offered.get("function", offered).get("strict")) is is_strict
