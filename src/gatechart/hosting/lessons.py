"""What agents of a graph learn from their escapes: an agent keeps it for each graph, and homes read it from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from gatechart.api.home import AgentHome
from gatechart.api.lessons import ForgetLessonsCommand
from gatechart.context import AgentContext
from gatechart.errors.event import AgentExistsError, UnknownAgentError
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.hosting.own_agents import OwnAgents
from gatechart.turn.arguments import known_id
from gatechart.values.agents import Event, Snapshot
from gatechart.values.framework import LESSONS_AGENT, LESSONS_GRAPH
from gatechart.values.lessons import LEARN, NO_LESSONS, Lessons, Tally
from gatechart.values.names import AgentId

LEARNING: Final = "LEARNING"
MOST_NAMES: Final = 200
"""Names of each kind that are kept of a graph: those of which something was heard last."""

MOST_COUNTED: Final = 400
"""Once a name was counted so often, its counts are halved, so that what is new weighs more."""

Counts = dict[str, list[int]]
_Told = Annotated[dict[str, tuple[NonNegativeInt, NonNegativeInt]], Field(max_length=MOST_NAMES)]
_KINDS: Final = ("strategies", "tools", "errors", "places", "capabilities")


class Lesson(BaseModel):
    """The report of one attempt to escape: by kind and name, the number of successes and of failures."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    strategies: _Told = Field(default_factory=dict)
    tools: _Told = Field(default_factory=dict)
    errors: _Told = Field(default_factory=dict)
    places: _Told = Field(default_factory=dict)
    capabilities: _Told = Field(default_factory=dict)


class LessonContext(AgentContext):
    """What is kept for a graph. By name, that of which something was heard last is the last."""

    strategies: Counts = Field(default_factory=dict)
    tools: Counts = Field(default_factory=dict)
    errors: Counts = Field(default_factory=dict)
    places: Counts = Field(default_factory=dict)
    capabilities: Counts = Field(default_factory=dict)


def lessons_graph() -> AnyGraph:
    """Return the graph whose agents keep what is learned, one for each graph."""
    return FrameworkGraph(
        LESSONS_GRAPH,
        context=LessonContext,
        states=[State(LEARNING, description="hears of each attempt to get out, and what it came to")],
        transitions=[Transition(ANY, LEARN, actions=_learn)],
        entry_points=[EntryPoint(LEARNING)],
        events=[EventType(LEARN, takes=Lesson)],
        events_closed=True,
    )


def keeper_of(graph: str) -> AgentId:
    """Return the id of the agent that keeps what is learned for a graph."""
    return f"{LESSONS_AGENT}{graph}"


def lessons_kept(snapshot: Snapshot) -> Lessons:
    """Return what such an agent keeps."""
    kept = LessonContext.model_validate(snapshot.context)
    return Lessons(*(_tallies(getattr(kept, kind)) for kind in _KINDS))


def _tallies(counts: Counts) -> Mapping[str, Tally]:
    return {name: (well, badly) for name, (well, badly) in counts.items()}


def _learn(context: LessonContext, event: Event) -> None:
    for kind in _KINDS:
        told = event.payload.get(kind)
        if told:
            setattr(context, kind, after_lesson(getattr(context, kind), told))


def after_lesson(kept: Mapping[str, list[int]], told: Mapping[str, Iterable[int]]) -> Counts:
    """Return counts with those of a lesson added; what was heard of last comes last, and only so much is kept.

    >>> after_lesson({"a": [1, 0], "b": [2, 2]}, {"a": [0, 1]})
    {'b': [2, 2], 'a': [1, 1]}
    """
    after = {name: counts for name, counts in kept.items() if name not in told}
    for name, counts in told.items():
        total = [before + more for before, more in zip(kept.get(name, (0, 0)), counts, strict=True)]
        after[name] = [count // 2 for count in total] if sum(total) > MOST_COUNTED else total
    return dict(list(after.items())[-MOST_NAMES:])


class LessonBook:
    """What has been learned for each graph, as a home that sees every commit knows it."""

    def __init__(self, home: AgentHome, own: OwnAgents) -> None:
        """Bind to a home and to its way to the framework's agents."""
        self._home = home
        self._own = own
        self._known: dict[AgentId, Lessons] = {}

    async def read(self, graph: str) -> Lessons:
        """Return the lessons of a graph. Starts the agent that keeps them, if there is none.

        If an application's agent has its id, there are no lessons.
        """
        keeper = keeper_of(graph)
        if keeper not in self._known:
            kept = await self._kept(keeper)
            if kept.graph != LESSONS_GRAPH:
                return NO_LESSONS
            self.see(kept)
        return self._known[keeper]

    async def _kept(self, keeper: AgentId) -> Snapshot:
        try:
            return await self._home.read(keeper)
        except UnknownAgentError:
            pass
        try:
            return await self._own.start(LESSONS_GRAPH, at=LEARNING, agent_id=keeper)
        except AgentExistsError:  # another caller was faster
            return await self._home.read(keeper)

    def see(self, snapshot: Snapshot) -> None:
        """Learn of the newest commit of an agent that keeps lessons."""
        self._known[snapshot.agent_id] = lessons_kept(snapshot)

    def forget(self, agent_id: AgentId) -> None:
        """Learn that an agent was erased, whatever it was."""
        self._known.pop(agent_id, None)


async def forget_lessons(own: OwnAgents, command: ForgetLessonsCommand) -> None:
    """Execute the command: erase the agent that keeps the lessons of a graph, unless it is an application's."""
    keeper = known_id(keeper_of(command.graph))
    with suppress(UnknownAgentError):
        await own.erase(keeper)
