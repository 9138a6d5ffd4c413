"""Customers of the online shop, as several test modules play them."""

from __future__ import annotations

from gatechart import Agent, Runtime
from gatechart.results import HandoffRecord
from statecharts.online_shop.context import Visit

ORDER = "What is the status of my order A-1042?"


SPECIAL = "I want it engraved with: to Ada"


async def ask(agent: Agent, text: str) -> None:
    outcome = await agent.send("CUSTOMER_ASKED", {"text": text})
    assert outcome.applied, str(outcome.refusal)


async def visitor(shop: Runtime, text: str) -> Agent:
    """The agent that greeted a customer, who has asked something."""
    agent = await shop.start("general_enquiries", at="LISTENING", payload=Visit(user_id="grace"))
    await ask(agent, text)
    return agent


async def last_handoff(shop: Runtime, source: Agent) -> HandoffRecord:
    return (await shop.handoffs(source=source.id))[-1]


async def taken_over(shop: Runtime, source: Agent, state: str = "HANDED_OVER") -> Agent:
    """The agent that has the customer after this one."""
    await source.until(state)
    return await shop.resume((await last_handoff(shop, source)).target)


async def at_orders(shop: Runtime, text: str = ORDER) -> Agent:
    """The agent for orders that a customer was handed to, and that has answered."""
    agent = await taken_over(shop, await visitor(shop, text))
    await agent.until("LISTENING")
    return agent
