"""Lessons that a graph's agents learn from their escapes. One keeper agent per graph stores them for the homes."""

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
"""Maximum number of names of each kind for a graph. The most recently reported names are kept."""

MOST_COUNTED: Final = 400
"""Once the counts of a name exceed this sum, they are halved, so that new reports weigh more."""

Counts = dict[str, list[int]]
_Reported = Annotated[dict[str, tuple[NonNegativeInt, NonNegativeInt]], Field(max_length=MOST_NAMES)]
_KINDS: Final = ("strategies", "tools", "errors", "places", "capabilities")


class Lesson(BaseModel):
    """The report of one attempt to escape: by kind and name, the number of successes and of failures."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    strategies: _Reported = Field(default_factory=dict)
    tools: _Reported = Field(default_factory=dict)
    errors: _Reported = Field(default_factory=dict)
    places: _Reported = Field(default_factory=dict)
    capabilities: _Reported = Field(default_factory=dict)


class LessonContext(AgentContext):
    """The lessons of a graph. In each mapping, the most recently reported name comes last."""

    strategies: Counts = Field(default_factory=dict)
    tools: Counts = Field(default_factory=dict)
    errors: Counts = Field(default_factory=dict)
    places: Counts = Field(default_factory=dict)
    capabilities: Counts = Field(default_factory=dict)


def lessons_graph() -> AnyGraph:
    """Return the graph of the keepers, the agents that store lessons, one for each graph."""
    return FrameworkGraph(
        LESSONS_GRAPH,
        context=LessonContext,
        states=[State(LEARNING, description="records the result of each escape attempt")],
        transitions=[Transition(ANY, LEARN, actions=_learn)],
        entry_points=[EntryPoint(LEARNING)],
        events=[EventType(LEARN, takes=Lesson)],
        events_closed=True,
    )


def keeper_of(graph: str) -> AgentId:
    """Return the id of the agent that stores the lessons of a graph."""
    return f"{LESSONS_AGENT}{graph}"


def lessons_kept(snapshot: Snapshot) -> Lessons:
    """Return the lessons in a keeper's snapshot."""
    context = LessonContext.model_validate(snapshot.context)
    return Lessons(*(_tallies(getattr(context, kind)) for kind in _KINDS))


def _tallies(counts: Counts) -> Mapping[str, Tally]:
    return {name: (successes, failures) for name, (successes, failures) in counts.items()}


def _learn(context: LessonContext, event: Event) -> None:
    for kind in _KINDS:
        reported = event.payload.get(kind)
        if reported:
            setattr(context, kind, after_lesson(getattr(context, kind), reported))


def after_lesson(kept: Mapping[str, list[int]], reported: Mapping[str, Iterable[int]]) -> Counts:
    """Add the counts of a lesson. The reported names come last, and only the last MOST_NAMES are kept.

    >>> after_lesson({"a": [1, 0], "b": [2, 2]}, {"a": [0, 1]})
    {'b': [2, 2], 'a': [1, 1]}
    """
    after = {name: counts for name, counts in kept.items() if name not in reported}
    for name, counts in reported.items():
        total = [before + more for before, more in zip(kept.get(name, (0, 0)), counts, strict=True)]
        after[name] = [count // 2 for count in total] if sum(total) > MOST_COUNTED else total
    return dict(list(after.items())[-MOST_NAMES:])


class LessonBook:
    """A cache of the lessons of each graph, for a home that sees every commit."""

    def __init__(self, home: AgentHome, own: OwnAgents) -> None:
        """Bind to a home. own: its access to the framework's agents."""
        self._home = home
        self._own = own
        self._known: dict[AgentId, Lessons] = {}

    async def read(self, graph: str) -> Lessons:
        """Return the lessons of a graph. Start its keeper if it does not exist.

        If an application's agent has the keeper's id, there are no lessons.
        """
        keeper = keeper_of(graph)
        if keeper not in self._known:
            snapshot = await self._keeper_snapshot(keeper)
            if snapshot.graph != LESSONS_GRAPH:
                return NO_LESSONS
            self.see(snapshot)
        return self._known[keeper]

    async def _keeper_snapshot(self, keeper: AgentId) -> Snapshot:
        try:
            return await self._home.read(keeper)
        except UnknownAgentError:
            pass
        try:
            return await self._own.start(LESSONS_GRAPH, at=LEARNING, agent_id=keeper)
        except AgentExistsError:  # another caller was faster
            return await self._home.read(keeper)

    def see(self, snapshot: Snapshot) -> None:
        """Update the lessons from the newest commit of a keeper."""
        self._known[snapshot.agent_id] = lessons_kept(snapshot)

    def forget(self, agent_id: AgentId) -> None:
        """Drop the lessons of an erased agent, if it was a keeper."""
        self._known.pop(agent_id, None)


async def forget_lessons(own: OwnAgents, command: ForgetLessonsCommand) -> None:
    """Execute the command: erase the keeper of a graph's lessons, unless it is an application's agent."""
    keeper = known_id(keeper_of(command.graph))
    with suppress(UnknownAgentError):
        await own.erase(keeper)
