"""The usual plan to get out, ready to pass to a graph: `escape=getting_out(human="human_desk", at="NORMAL")`."""

from __future__ import annotations

from typing import Final

from gatechart.escape.strategies import AwaitBreaker, Nudge, Reroute, Restart, SwitchTool
from gatechart.graph import EVERY_SIGNAL, REFUSED_TOOL, Best, EscapePlan, GiveUp, Strategy, ToHuman
from gatechart.values import Delay, Name

FAILING: Final = ("failing_tool", "tool_failures", "retries_over", "error_rate")
"""Names of signals that tools fail, as the presets of signals and the detectors have them."""

CIRCLING: Final = ("repeats", "visits_over")
"""Names of signals that an agent goes round in its states."""

MUSING: Final = ("same_call", "no_progress", "goes_in_circles", "same_question")
"""Names of signals that a model repeats itself or gets nowhere."""


def getting_out(
    human: Name | Best | None = None,
    *,
    at: Name = "",
    restart: Name | None = None,
    cooldown: Delay = "120s",
    most_a_day: int = 20,
    turns: int = 5,
    learns: bool = True,
) -> EscapePlan:
    """Return the plan that answers what `looping()` and `handing_on()` notice of failing tools and circles.

    A tool that fails, or whose circuit breaker refuses calls: another tool, a wait for the breaker, another way. A
    circle of states: another way. A model that repeats itself gets a hint, then takes another way. Both wait first if a
    breaker refused calls lately. Where a circle and a failing tool are noticed together, the circle goes first. If
    nothing helps, the work goes to a person; without one the agent restarts, and then gives up. What else is
    noticed, such as a wish for a person, goes to the person at once; without one it is only noted.

    human: graph that stands for people, or what chooses it; at: its entry point. restart: entry point at which to begin
    anew before the work goes to a person; without a person, by default the one at which the agent began.

    >>> plan = getting_out(human="human_desk", at="NORMAL")
    >>> [strategy.name for strategy in plan.answers("failing_tool")], plan.last.name
    (['switch_tool', 'await_breaker', 'reroute'], 'to_human')
    """
    last: Strategy = GiveUp() if human is None else ToHuman(human, at=at)
    anew = (Restart(restart or ""),) if restart or human is None else ()
    tactics: dict[Name, tuple[Strategy, ...]] = {
        **dict.fromkeys((REFUSED_TOOL, *FAILING), (SwitchTool(), AwaitBreaker(), Reroute(), *anew)),
        **dict.fromkeys(CIRCLING, (AwaitBreaker(), Reroute(), *anew)),
        **dict.fromkeys(MUSING, (AwaitBreaker(), Nudge(), Reroute(), *anew)),
        **({} if human is None else {EVERY_SIGNAL: (last,)}),
    }
    return EscapePlan(
        tactics,
        cooldown=cooldown,
        most_a_day=most_a_day,
        turns=turns,
        last=last,
        learns=learns,
        shared=True,
    )
