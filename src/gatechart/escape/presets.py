"""The default escape plan, ready to pass to a graph: `escape=getting_out(human="human_desk", at="NORMAL")`."""

from __future__ import annotations

from typing import Final

from gatechart.escape.strategies import AwaitBreaker, Nudge, Reroute, Restart, SwitchTool
from gatechart.graph.escape import EVERY_SIGNAL, REFUSED_TOOL, EscapePlan, GiveUp, Strategy, ToHuman
from gatechart.graph.selection import Best
from gatechart.values.delays import Delay
from gatechart.values.names import Name

FAILING: Final = ("failing_tool", "tool_failures", "retries_over", "error_rate")
"""Names of signals about failing tools, as in the presets of signals and the detectors."""

CIRCLING: Final = ("repeats", "visits_over")
"""Names of signals about an agent that goes in circles between its states."""

MUSING: Final = ("same_call", "no_progress", "goes_in_circles", "same_question")
"""Names of signals about a model that repeats itself or makes no progress."""


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
    """Return the plan for the signals of `looping()` and `handing_on()`.

    For a tool that fails, or whose circuit breaker refuses calls: another tool, a wait for the breaker, another route.
    For a circle of states: another route. For a model that repeats itself: a hint, then another route. The last two
    wait first if a breaker refused calls recently. If a circle and a failing tool are reported together, the circle
    comes first. If nothing helps, the work goes to a person; without one the agent restarts, and then gives up. Other
    signals, such as a request for a person, go to the person at once; without one they are only recorded.

    human: graph that represents people, or a selection of one; at: its entry point. restart: entry point for a restart
    before the work goes to a person; without a person, the default is the entry point where the agent started.

    >>> plan = getting_out(human="human_desk", at="NORMAL")
    >>> [strategy.name for strategy in plan.answers("failing_tool")], plan.last.name
    (['switch_tool', 'await_breaker', 'reroute'], 'to_human')
    """
    last: Strategy = GiveUp() if human is None else ToHuman(human, at=at)
    restarts = (Restart(restart or ""),) if restart or human is None else ()
    tactics: dict[Name, tuple[Strategy, ...]] = {
        **dict.fromkeys((REFUSED_TOOL, *FAILING), (SwitchTool(), AwaitBreaker(), Reroute(), *restarts)),
        **dict.fromkeys(CIRCLING, (AwaitBreaker(), Reroute(), *restarts)),
        **dict.fromkeys(MUSING, (AwaitBreaker(), Nudge(), Reroute(), *restarts)),
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
