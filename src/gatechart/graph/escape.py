"""Escape plans as a graph declares them: strategies for each signal, from cheap to drastic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.names import one_or_more
from gatechart.graph.selection import Best
from gatechart.graph.signals import usual_name
from gatechart.values.delays import Delay, seconds_of
from gatechart.values.escapes import ESCAPE, TakeTransition, Way
from gatechart.values.frozen import fill, value
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.names import EventName, Name, StateName, name_of

GAVE_UP: Final[StateName] = "GAVE_UP"
"""Final state for failure that a plan adds. Its output is the evidence."""

UNDOING: Final[StateName] = "UNDOING"
"""State that a plan adds for undoing calls before the agent rolls back past them."""

UNDO: Final = "undo_calls"
"""Id of the invoke that undoes the calls."""

UNDO_FAILED: Final = "undo_failed"
"""Name of the signal that fires if a call could not be undone. Only strategies listed for this name answer it."""

REFUSED_TOOL: Final = "refused_tool"
"""Name of the signal that fires when circuit breakers refuse calls of a tool. Plans can answer it undeclared."""

EVERY_SIGNAL: Final = "*"
"""In place of a signal's name: the strategies for every signal without its own list."""


@value
class Adds:
    """The additions of a strategy to the chart: a transition from every state on its event, and the target state.

    In that state the work is handed on, a flow runs while the agent waits, or the agent ends as failed.
    """

    state: StateName
    handoff: Handoff | None = None
    flow: Any = None  # an Invoke
    then: StateName = ""  # state after the flow has ended
    otherwise: StateName = GAVE_UP  # state if no target accepts the work, or the flow fails


@value
class Nameable:
    """The names in a graph that strategies can refer to."""

    states: tuple[StateName, ...]
    entry_points: tuple[str, ...] | None  # None if any name is possible
    fields: tuple[str, ...] | None  # of the context; None if any name is possible


class Strategy:
    """A strategy for escaping. Subclasses are frozen dataclasses; strategies with the same name must do the same.

    By default a strategy makes the chart take the event `escape.<name>`.
    """

    __slots__ = ()

    looks_back: ClassVar[bool] = False  # whether its routes depend on the agent's past turns
    goes_back: ClassVar[bool] = False  # whether its routes roll back past calls, which are undone first
    awaits_breakers: ClassVar[bool] = False  # whether it waits for circuit breakers; its list then answers refusals
    bounds_itself: ClassVar[bool] = (
        False  # whether it can be retried at any time, because its routes limit it themselves
    )

    @property
    def name(self) -> str:
        """The strategy's name in events, in the agent's record and in charts: `switch_tool` for SwitchTool."""
        return usual_name(type(self))

    @property
    def event(self) -> EventName:
        """The event that the chart can take for it."""
        return f"{ESCAPE}{self.name}"

    @property
    def adds(self) -> Adds | None:
        """Its additions to the chart; None if there are none."""
        return None

    def ways(self, scene: Any) -> Iterator[Way]:  # noqa: ARG002  for subclasses that use it
        """Yield its escape routes from a `gatechart.escape.Scene`, the best first. Pure.

        The first open route is taken: an enabled transition, an entry point whose guard agrees and whose payload fits,
        or a version that the agent can roll back to. A `NoWay` gives the reason why there is none.
        """
        yield TakeTransition()

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:  # noqa: ARG002
        """Yield the faults of the strategy, which make its graph invalid. place: where it is declared."""
        yield from ()


@value
class HandOn(Strategy):
    """Hand the work on. A plan can also list the handoff itself."""

    handoff: Handoff
    otherwise: StateName = GAVE_UP  # state if no target accepts the work

    @property
    def name(self) -> str:
        """The strategy's name, with the name of the target."""
        return f"hand_on_{self.handoff.target}"

    @property
    def adds(self) -> Adds:
        """The state that waits until a target accepts the work."""
        return Adds(f"HANDING_ON_TO_{self.handoff.target}", self.handoff, otherwise=self.otherwise)


@dataclass(frozen=True, init=False)
class ToHuman(Strategy):
    """Hand the work to a person, with the evidence in its packet."""

    handoff: Handoff
    otherwise: StateName  # state if no target accepts the work

    def __init__(
        self,
        to: Name | Best = "human_desk",
        *,
        at: Name = "",
        reason: Reason | str | None = None,
        fallbacks: Fallbacks | None = None,
        otherwise: Name = GAVE_UP,
    ) -> None:
        handoff = Handoff(to, at=at, mode=Mode.TRANSFER, reason=reason, fallbacks=fallbacks)
        fill(self, handoff=handoff, otherwise=name_of(otherwise))

    @property
    def adds(self) -> Adds:
        """The state that waits until a target accepts the work."""
        return Adds("WAITING_FOR_HUMAN", self.handoff, otherwise=self.otherwise)


@dataclass(frozen=True, slots=True)
class GiveUp(Strategy):
    """End the agent as failed, with the evidence as its output."""

    @property
    def adds(self) -> Adds:
        """The state where the agent ends."""
        return Adds(GAVE_UP)


Tactics: TypeAlias = Mapping[Name, Iterable[Strategy | Handoff] | Strategy | Handoff]
"""Strategies by the name of their signal, from cheap to drastic; "*" for every other signal."""


@dataclass(frozen=True, init=False)
class EscapePlan:
    """The strategies of agents for signals that no transition of the chart takes.

    Each strategy is tried once for each finding; a finding ends when the agent makes progress. A strategy that was
    tried less than `cooldown` ago, even for another finding, is skipped. Once none is left, or the agent has made
    `most_a_day` attempts on one day, `last` is taken. The plan of an inner state takes precedence over the plans of the
    states around it and of the graph, which answer the signals that it does not list. If the signal names a tool, the
    lists for that tool come first, then the plan of the tool itself (`@tool(escape=…)`), then the other lists.
    """

    strategies: tuple[tuple[str, tuple[Strategy, ...]], ...]  # by signal
    tools: tuple[tuple[str, tuple[tuple[str, tuple[Strategy, ...]], ...]], ...]  # lists by the name of a tool
    cooldown_s: float | None  # None if the text is not a duration, which validation reports
    most_a_day: int  # attempts of one agent, by UTC
    turns: int  # number of moves within which an attempt must lead to progress
    last: Strategy
    learns: bool  # whether strategies that led to progress before are tried earlier; False keeps the declared order
    shared: bool  # whether it may name signals that the graph lacks, as a plan for several graphs does

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
            "tools": tuple((name, _by_signal(tactics)) for name, tactics in (tools or {}).items()),
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
        """All its strategies without duplicates, in declared order; the last resort comes last."""
        return each_once((*(strategy for _, some in self.lists for strategy in some), self.last))

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that it answers, without duplicates; "*" means every other one."""
        return tuple(dict.fromkeys(name for name, _ in self.lists))

    @property
    def lists(self) -> Iterator[tuple[str, tuple[Strategy, ...]]]:
        """Each list of strategies with its signal; lists for single tools come last."""
        for group in (self.strategies, *(lists for _, lists in self.tools)):
            yield from group

    def answers(self, signal: str) -> tuple[Strategy, ...]:
        """Return the strategies for a signal, regardless of its tool; empty if there are none.

        Refusals of circuit breakers (`refused_tool`) are answered by the list of that name, or else by the first list
        that waits for breakers. No other list answers them, not even "*": a refused call is not a reason to hand on the
        work.
        """
        return _answer(self.strategies, signal)

    def answers_for(self, tool: str, signal: str) -> tuple[Strategy, ...]:
        """Return the plan's strategies for a signal that names a tool; empty if it has none for the tool."""
        return _answer(dict(self.tools).get(tool, ()), signal)


def each_once(strategies: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Return the strategies in order, without duplicates."""
    unique: list[Strategy] = []
    for strategy in strategies:
        if strategy not in unique:  # compared rather than hashed: an invalid one may have no hash
            unique.append(strategy)
    return tuple(unique)


def unknown_names(place: str, what: str, names: Iterable[str], known: Sequence[str] | None) -> Iterator[Fault]:
    """Yield a fault for each name that is not known. known: None if any name is."""
    for name in names:
        if known is not None and name not in known:
            yield Fault(place, f"unknown {what} {name!r}", suggestion(name, known))


def _answer(group: Sequence[tuple[str, tuple[Strategy, ...]]], signal: str) -> tuple[Strategy, ...]:
    lists = dict(group)
    if signal == REFUSED_TOOL:
        awaiting = (some for some in lists.values() if any(strategy.awaits_breakers for strategy in some))
        return lists.get(signal) or next(awaiting, ())
    names = (signal,) if signal == UNDO_FAILED else (signal, EVERY_SIGNAL)
    matching = (lists.get(name) for name in names)
    return next((strategies for strategies in matching if strategies), ())


def _by_signal(tactics: Tactics) -> tuple[tuple[str, tuple[Strategy, ...]], ...]:
    return tuple((name_of(name), tuple(map(_strategy, one_or_more(some)))) for name, some in tactics.items())


def _strategy(strategy: Strategy | Handoff) -> Strategy:
    return HandOn(strategy) if isinstance(strategy, Handoff) else strategy
