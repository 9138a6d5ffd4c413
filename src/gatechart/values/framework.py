"""The namespace of the framework: graphs, agent ids and events that are reserved for gatechart itself."""

from __future__ import annotations

from typing import Final

from gatechart.errors.event import FrameworkAgentError
from gatechart.values.frozen import value
from gatechart.values.names import FRAMEWORK, AgentId, EventName

ALARM_GRAPH: Final = "gatechart.alarm"
ALARM_AGENT: Final = "alarm:"
"""Prefix of the ids of the agents that keep alarms. The id of the alarm follows."""

ALERTS_GRAPH: Final = "gatechart.alerts"
SINK_AGENT: Final = "alerts:"
"""Prefix of the ids of the agents that deliver alerts. The name of the sink follows."""

DIRECTORY_GRAPH: Final = "gatechart.directory"
ENTRY_AGENT: Final = "directory:"
"""Prefix of the ids of the agents that keep directory entries. The id of the entry follows."""

LESSONS_GRAPH: Final = "gatechart.lessons"
LESSONS_AGENT: Final = "lessons:"
"""Prefix of the ids of the agents that keep the lessons of a graph. The name of the graph follows."""

SCHEDULE_GRAPH: Final = "gatechart.schedule"
SCHEDULE_AGENT: Final = "schedule:"
"""Prefix of the ids of the agents that run schedules. The name of the schedule follows."""

WATCHDOG_GRAPH: Final = "gatechart.watchdog"
WATCHDOG_AGENT: Final = "watchdog"
"""Id of the agent that keeps the findings of the watchdog."""


@value
class OwnKind:
    """A kind of agents that belong to the framework."""

    graph: str
    agent: str  # id of its only agent, or the prefix of the ids of its agents, which ends with a colon
    instead: str  # what callers can do instead, for errors
    loss: str  # effect of an application's agent with such an id; {} is the rest of the id

    def has(self, agent_id: AgentId) -> bool:
        """Return whether the id is one of this kind."""
        return agent_id.startswith(self.agent) if self.agent.endswith(":") else agent_id == self.agent


OWN_KINDS: Final = (
    OwnKind(
        ALARM_GRAPH,
        ALARM_AGENT,
        "raise an alarm with alarm(), `gatechart alarm` or POST /alarms",
        "no alarm with the id {!r} can be raised",
    ),
    OwnKind(
        ALERTS_GRAPH,
        SINK_AGENT,
        "configure sinks with alerts=Alerts(...); escape plans with Alert(...) and the watchdog send alerts",
        "no alert reaches the sink {!r}",
    ),
    OwnKind(
        DIRECTORY_GRAPH,
        ENTRY_AGENT,
        "use register_entry(), deregister_entry(), mark_entry(), rate_handoff() or forget_user()",
        "the entry {!r} of the directory cannot be registered or marked, and the outcomes of its work are not kept",
    ),
    OwnKind(
        LESSONS_GRAPH,
        LESSONS_AGENT,
        "agents report their escapes themselves; forget_lessons() deletes what they learned",
        "nothing is learned from the escapes of agents of the graph {!r}",
    ),
    OwnKind(
        SCHEDULE_GRAPH,
        SCHEDULE_AGENT,
        "use schedule(), pause_schedule(), resume_schedule(), run_schedule() or delete_schedule()",
        "the schedule {!r} cannot be created",
    ),
    OwnKind(
        WATCHDOG_GRAPH,
        WATCHDOG_AGENT,
        "configure it with watchdog=Watchdog(...), and see its findings with findings() or `gatechart doctor`",
        "the watchdog reports to no agent and no sink, and does not act",
    ),
)
"""All kinds. Adding a kind here closes it to callers everywhere."""

OWN_GRAPHS: Final = frozenset(kind.graph for kind in OWN_KINDS)
"""Names of the framework's graphs."""

_PREFIXES: Final = tuple(kind.agent for kind in OWN_KINDS if kind.agent.endswith(":"))
_IDS: Final = frozenset(kind.agent for kind in OWN_KINDS if not kind.agent.endswith(":"))


def is_framework_graph(graph: str) -> bool:
    """Return whether a graph of this name belongs to the framework: whether it has the prefix `gatechart.`.

    >>> is_framework_graph("gatechart.alerts"), is_framework_graph("gatechart.new"), is_framework_graph("alerts")
    (True, True, False)
    """
    return graph.startswith(FRAMEWORK)


def is_framework_id(agent_id: AgentId) -> bool:
    """Return whether an id is reserved for agents of the framework.

    >>> [is_framework_id(agent_id) for agent_id in ("alerts:ops", "watchdog", "alerts", "watchdogs")]
    [True, True, False, False]
    """
    return agent_id.startswith(_PREFIXES) or agent_id in _IDS


def is_framework_agent(agent_id: AgentId, graph: str) -> bool:
    """Return whether an agent belongs to the framework: by its graph and by its id.

    If only its graph or only its id matches, it was started by an earlier release, which did not check ids.

    >>> is_framework_agent("alerts:ops", "gatechart.alerts"), is_framework_agent("alerts:ops", "orders")
    (True, False)
    """
    return is_framework_graph(graph) and is_framework_id(agent_id)


def is_framework_event(event: EventName) -> bool:
    """Return whether an event is one that the framework sends to its own agents.

    >>> is_framework_event("gatechart.alert"), is_framework_event("alarm.fire")
    (True, False)
    """
    return event.startswith(FRAMEWORK)


def kind_of(agent_id: AgentId) -> OwnKind | None:
    """Return the kind of framework agents that an id belongs to; None if it belongs to none."""
    return next((kind for kind in OWN_KINDS if kind.has(agent_id)), None)


def is_misplaced(agent_id: AgentId, graph: str) -> bool:
    """Return whether an application's agent has an id or a graph that belongs to the framework.

    >>> [is_misplaced(*pair) for pair in (("alerts:ops", "orders"), ("a", "gatechart.mine"), ("a", "gatechart.alerts"))]
    [True, True, False]
    """
    kind = kind_of(agent_id)
    return (kind is not None and kind.graph != graph) or (is_framework_graph(graph) and graph not in OWN_GRAPHS)


def loss_from(agent_id: AgentId) -> str:
    """Return the effect of an application's agent that has a reserved id, or a graph with a reserved name.

    >>> loss_from("alerts:ops"), loss_from("a")
    ("no alert reaches the sink 'ops'", 'no home can host the agent')
    """
    kind = kind_of(agent_id)
    return "no home can host the agent" if kind is None else kind.loss.format(agent_id.removeprefix(kind.agent))


def check_not_framework(*agent_ids: AgentId | None, graph: str = "") -> None:
    """Raise FrameworkAgentError if a graph or an id is reserved for the framework. None and "" are ignored."""
    for agent_id in agent_ids:
        if agent_id and is_framework_id(agent_id):
            kind = kind_of(agent_id)
            assert kind is not None  # every reserved id belongs to a kind
            raise FrameworkAgentError("agent", agent_id, kind.instead)
    if is_framework_graph(graph):
        raise FrameworkAgentError("graph", graph, _instead_of_graph(graph))


def _instead_of_graph(graph: str) -> str:
    return next((kind.instead for kind in OWN_KINDS if kind.graph == graph), "use a graph of the application")
