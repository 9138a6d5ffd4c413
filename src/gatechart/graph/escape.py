"""Escape plans as a graph declares them: for each signal what is tried to get out, from cheap to drastic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from gatechart.errors import Fault, suggestion
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.names import one_or_more
from gatechart.graph.selection import Best
from gatechart.graph.signals import usual_name
from gatechart.values import (
    ESCAPE,
    Delay,
    EventName,
    Mode,
    Name,
    Reason,
    StateName,
    TakeTransition,
    Way,
    name_of,
    seconds_of,
)
from gatechart.values.frozen import fill, value

GAVE_UP: Final[StateName] = "GAVE_UP"
"""Failed final state that a plan adds. Its output is the evidence."""

UNDOING: Final[StateName] = "UNDOING"
"""State that a plan adds, in which calls are taken back before the agent goes back over them."""

UNDO: Final = "undo_calls"
"""Id of the invoke that takes them back."""

UNDO_FAILED: Final = "undo_failed"
"""Name of the signal that fires if a call could not be taken back. Only what names it answers it."""

REFUSED_TOOL: Final = "refused_tool"
"""Name of the signal that circuit breakers refuse calls of a tool. It needs no declaration where a plan answers it."""

EVERY_SIGNAL: Final = "*"
"""In place of a signal's name: the strategies are those for every signal that has none of its own."""


@value
class Adds:
    """What a strategy adds to the chart: a transition from anywhere on its event, and the state to which it leads.

    The work is handed on, or a flow runs while the agent waits, or the agent ends there as failed.
    """

    state: StateName
    handoff: Handoff | None = None
    flow: Any = None  # an Invoke
    then: StateName = ""  # follows the flow's end
    otherwise: StateName = GAVE_UP  # follows if nobody takes the work, or the flow fails


@value
class Nameable:
    """What strategies can refer to by name in their graph."""

    states: tuple[StateName, ...]
    entry_points: tuple[str, ...] | None  # None if it can have any
    fields: tuple[str, ...] | None  # of the context; None if it can have any


class Strategy:
    """One thing to try. Subclasses are frozen dataclasses; those with the same name do the same.

    By itself a strategy has the chart take the event `escape.<name>`.
    """

    __slots__ = ()

    looks_back: ClassVar[bool] = False  # whether its ways depend on the agent's past turns
    goes_back: ClassVar[bool] = False  # whether its ways lead back over calls, which are taken back before that
    awaits_breakers: ClassVar[bool] = False  # whether it waits for circuit breakers, so that its list answers refusals
    bounds_itself: ClassVar[bool] = False  # whether it may be tried again at any time, as its ways say when they close

    @property
    def name(self) -> str:
        """Its name in events, in the agent's record and in charts: `switch_tool` for SwitchTool."""
        return usual_name(type(self))

    @property
    def event(self) -> EventName:
        """Event that the chart may take in its place."""
        return f"{ESCAPE}{self.name}"

    @property
    def adds(self) -> Adds | None:
        """What it adds to the chart; None for nothing."""
        return None

    def ways(self, scene: Any) -> Iterator[Way]:  # noqa: ARG002  for subclasses that look at it
        """Yield the ways that it leads, the best first, from a `gatechart.escape.Scene`. Pure.

        The first that is open is taken: a transition that is enabled, an entry point whose guard and payload agree, a
        version to which the agent can go back. A `NoWay` says why there is none.
        """
        yield TakeTransition()

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:  # noqa: ARG002
        """Yield what is wrong with it in a graph, for which the graph is refused. place: where it stands."""
        yield from ()


@value
class HandOn(Strategy):
    """Hand the work on. In a plan, the handoff itself may be written."""

    handoff: Handoff
    otherwise: StateName = GAVE_UP  # follows if nobody takes it

    @property
    def name(self) -> str:
        """Its name, with that of the target."""
        return f"hand_on_{self.handoff.target}"

    @property
    def adds(self) -> Adds:
        """The state that waits until somebody takes the work."""
        return Adds(f"HANDING_ON_TO_{self.handoff.target}", self.handoff, otherwise=self.otherwise)


@dataclass(frozen=True, init=False)
class ToHuman(Strategy):
    """Hand the work to a person, with the evidence in its packet."""

    handoff: Handoff
    otherwise: StateName  # follows if nobody takes it

    def __init__(
        self,
        to: Name | Best = "human_desk",
        *,
        at: Name = "",
        reason: Reason | str | None = None,
        fallbacks: Fallbacks | None = None,
        otherwise: Name = GAVE_UP,
    ) -> None:
        made = Handoff(to, at=at, mode=Mode.TRANSFER, reason=reason, fallbacks=fallbacks)
        fill(self, handoff=made, otherwise=name_of(otherwise))

    @property
    def adds(self) -> Adds:
        """The state that waits until somebody takes the work."""
        return Adds("WAITING_FOR_HUMAN", self.handoff, otherwise=self.otherwise)


@dataclass(frozen=True, slots=True)
class GiveUp(Strategy):
    """End the agent as failed, with the evidence as its output."""

    @property
    def adds(self) -> Adds:
        """The state in which it ends."""
        return Adds(GAVE_UP)


Tactics: TypeAlias = Mapping[Name, Iterable[Strategy | Handoff] | Strategy | Handoff]
"""Strategies by the name of their signal, from cheap to drastic; "*" for every other signal."""


@dataclass(frozen=True, init=False)
class EscapePlan:
    """What agents try to get out of what their signals notice, where no transition of the chart takes the signal.

    Each strategy is tried once for each finding; a finding ends when the agent makes progress. If a strategy was tried
    less than `cooldown` ago, be it for another finding, the next one is taken. Once none is left, or the agent has
    tried `most_a_day` times on one day, `last` is taken. The plan of an inner state goes before those of the states
    around it and of the graph; what a plan does not answer is left to them. What plans say of a tool that the signal
    names goes before all that, and after it the plan of the tool itself (`@tool(escape=…)`).
    """

    strategies: tuple[tuple[str, tuple[Strategy, ...]], ...]  # by signal
    tools: tuple[tuple[str, tuple[tuple[str, tuple[Strategy, ...]], ...]], ...]  # those for one tool, by its name
    cooldown_s: float | None  # None if the text is not a duration, which validation reports
    most_a_day: int  # attempts of one agent, by UTC
    turns: int  # moves within which an attempt must have come to progress
    last: Strategy
    learns: bool  # whether strategies that came to progress before are tried earlier; False keeps the order given
    shared: bool  # whether it may name signals that the graph does not have, as a plan for several graphs does

    def __init__(
        self,
        strategies: Tactics,
        *,
        tools: Mapping[str, Tactics] | None = None,
        cooldown: Delay = "120s",
        most_a_day: int = 20,
        turns: int = 5,
        last: Strategy | Handoff = GiveUp(),
        learns: bool = True,
        shared: bool = False,
    ) -> None:
        fields: dict[str, Any] = {
            "strategies": _by_signal(strategies),
            "tools": tuple((name, _by_signal(each)) for name, each in (tools or {}).items()),
            "cooldown_s": seconds_of(cooldown),
            "most_a_day": most_a_day,
            "turns": turns,
            "last": _strategy(last),
            "learns": learns,
            "shared": shared,
        }
        fill(self, **fields)

    @property
    def every(self) -> tuple[Strategy, ...]:
        """All its strategies, each once, in the order given; the last resort is the last."""
        return each_once((*(each for _, some in self.lists for each in some), self.last))

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that it answers, each once; "*" stands for every other one."""
        return tuple(dict.fromkeys(name for name, _ in self.lists))

    @property
    def lists(self) -> Iterator[tuple[str, tuple[Strategy, ...]]]:
        """Each list of strategies with its signal; those for single tools come last."""
        for group in (self.strategies, *(each for _, each in self.tools)):
            yield from group

    def answers(self, signal: str) -> tuple[Strategy, ...]:
        """Return the strategies for a signal, whichever tool it names; empty if there are none.

        Refusals of circuit breakers (`refused_tool`) are answered by the list of that name, or else by the first list
        that waits for breakers. No other list answers them, not even "*": a refused call is no reason to hand on the
        work.
        """
        return _answer(self.strategies, signal)

    def answers_for(self, tool: str, signal: str) -> tuple[Strategy, ...]:
        """Return what is tried for a signal that names a tool, by what the plan says of it; empty for nothing."""
        return _answer(dict(self.tools).get(tool, ()), signal)


def each_once(strategies: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Return the strategies in order without those that are there already."""
    found: list[Strategy] = []
    for each in strategies:
        if each not in found:  # compared rather than hashed: one with a fault may have no hash
            found.append(each)
    return tuple(found)


def unknown_names(place: str, what: str, names: Iterable[str], known: Sequence[str] | None) -> Iterator[Fault]:
    """Yield a fault for each name that is not known. known: None if any name is."""
    for name in names:
        if known is not None and name not in known:
            yield Fault(place, f"unknown {what} {name!r}", suggestion(name, known))


def _answer(group: Sequence[tuple[str, tuple[Strategy, ...]]], signal: str) -> tuple[Strategy, ...]:
    lists = dict(group)
    if signal == REFUSED_TOOL:
        awaiting = (each for each in lists.values() if any(strategy.awaits_breakers for strategy in each))
        return lists.get(signal) or next(awaiting, ())
    names = (signal,) if signal == UNDO_FAILED else (signal, EVERY_SIGNAL)
    found = (lists.get(name) for name in names)
    return next((each for each in found if each), ())


def _by_signal(tactics: Tactics) -> tuple[tuple[str, tuple[Strategy, ...]], ...]:
    return tuple((name_of(name), tuple(map(_strategy, one_or_more(some)))) for name, some in tactics.items())


def _strategy(given: Strategy | Handoff) -> Strategy:
    return HandOn(given) if isinstance(given, Handoff) else given
