"""The built-in escape strategies, from cheap to drastic. Custom ones are subclasses of `gatechart.graph.Strategy`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel

from gatechart.errors.definition import Fault
from gatechart.escape.learning import NONE, clearly_better_first, fails_least_first
from gatechart.escape.routes import leads_away, routes
from gatechart.escape.scene import Scene
from gatechart.graph.callables import callable_name, fits, is_async
from gatechart.graph.definition import Invoke
from gatechart.graph.escape import GAVE_UP, Adds, Nameable, Strategy, unknown_names
from gatechart.graph.names import names_of
from gatechart.graph.signals import usual_name
from gatechart.kernel.select import candidates
from gatechart.values.breakers import BreakerState
from gatechart.values.delays import Delay, seconds_of
from gatechart.values.escapes import (
    AwaitBreakers,
    BreakerWait,
    CutBlock,
    EnterAt,
    GoBack,
    NoWay,
    SendAlert,
    SwitchTo,
    TakeTransition,
    TellModel,
    Way,
)
from gatechart.values.frozen import fill, value
from gatechart.values.lessons import Tally
from gatechart.values.names import STARTED, Name, Payload, StateName, name_of
from gatechart.values.payloads import mappings

Brought: TypeAlias = Callable[[Any], BaseModel | Payload | None]
"""A function of the context that returns the payload for an entry point."""

_USUAL_FIELD = "messages"
_ONE_DAY = timedelta(days=1)
_LONGEST_SHOWN = 600  # characters of a repeated block in a nudge


@value
class Nudge(Strategy):
    """Describe the circle to the model, with its next turn.

    If the chart has a transition for `escape.nudge`, the agent takes it instead.
    """

    text: str = ""  # replaces the default text

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        if any(candidates(scene.graph, scene.leaves, self.event)):
            yield TakeTransition()
        yield TellModel(self.text or _text_for_model(scene))


@dataclass(frozen=True, init=False)
class SwitchTool(Strategy):
    """Call another tool in place of the failing one, until the circuit breaker of the failing tool has closed.

    Candidates are the tools in `to`; by default, the alternatives in the tool's policies and the tools that share a
    capability with it. Their own breaker must be closed. Tools with the lowest failure rate in agents of this graph,
    for the same type of error, come first.
    """

    to: tuple[str, ...]

    def __init__(self, to: Iterable[Name] | Name = ()) -> None:
        fill(self, to=names_of(to))

    @property
    def name(self) -> str:
        """The strategy's name, with its tools if there are any: `switch_tool_to_search`."""
        return _name_of(self, "to", self.to)

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        if not scene.failed_tools:
            yield NoWay("no tool failed")
        switched = dict(scene.snapshot.trail.escapes.switched)
        for tool in scene.failed_tools:
            named = [name for name in self.to or scene.tool(tool).alternatives if name != tool]
            yield from (NoWay(f"there is no tool {name!r}") for name in named if name not in scene.tools)
            able = {name: scene.tool(name).capabilities for name in named if name in scene.tools}
            others = fails_least_first([*able], scene.lessons, scene.error_of(tool), able)
            closed = [name for name in others if scene.tool(name).breaker is BreakerState.CLOSED]
            closed = [name for name in closed if name not in scene.failed_tools and switched.get(tool) != name]
            yield from (SwitchTo(tool, name) for name in closed)
            if not named:
                yield NoWay(f"{tool} has no alternative")
            elif others and not closed:
                yield NoWay(f"no alternative of {tool} works: {', '.join(others)}")


@dataclass(frozen=True, init=False)
class AwaitBreaker(Strategy):
    """Let calls of a tool wait while its circuit breaker refuses them, instead of failing at once.

    Each call waits durably until the breaker admits it, with a random delay after the break, so that waiting agents do
    not all call at the same time. The wait ends at the latest `most` after the attempt, and also once the breaker has
    been open for `down` without closing: the tool then counts as down. A call that waits in vain is refused. For each
    tool, the strategy applies once within 24 hours.

    It applies to tools in the evidence, and to tools with refused calls in the agent's trail.
    """

    most_s: float | None  # None if the text is not a duration, which validation reports
    down_s: float | None

    awaits_breakers: ClassVar[bool] = True
    bounds_itself: ClassVar[bool] = True

    def __init__(self, most: Delay = "8h", *, down: Delay = "30m") -> None:
        fill(self, most_s=seconds_of(most), down_s=seconds_of(down))

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        tools = tuple(dict.fromkeys((*scene.failed_tools, *scene.refused_tools)))
        reasons = {tool: self._no_wait(scene, tool) for tool in tools}
        yield from (NoWay(why) for why in reasons.values() if why)
        now = scene.event.time
        until, down_s = now + timedelta(seconds=self.most_s or 0), self.down_s or 0
        awaited = tuple(BreakerWait(tool, now, until, down_s) for tool, why in reasons.items() if not why)
        if awaited:
            yield AwaitBreakers(awaited)
        elif not tools:
            yield NoWay("no tool is named, and no call was refused")

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:  # noqa: ARG002
        """See Strategy."""
        for name, seconds in (("most", self.most_s), ("down", self.down_s)):
            if not seconds:
                yield Fault(f"{place}, {name}", "it is not a duration", 'write one above 0, such as "8h" or "30m"')

    def _no_wait(self, scene: Scene, tool: str) -> str:
        """Return why calls of a tool cannot wait for its breaker; empty if they can."""
        facts, now = scene.tool(tool), scene.event.time
        before = scene.snapshot.trail.escapes.awaited_of(tool)
        if tool not in scene.tools:
            return f"there is no tool {tool!r}"
        if facts.breaker is BreakerState.CLOSED:
            return f"the breaker of {tool} lets calls through"
        if facts.breaker is BreakerState.ISOLATED:
            return f"the breaker of {tool} is isolated until an operator closes it"
        given_up_at = (facts.open_since or now) + timedelta(seconds=self.down_s or 0)
        if now >= given_up_at:
            return f"the breaker of {tool} has been open since {facts.open_since:%Y-%m-%d %H:%M:%S} UTC without closing"
        if facts.retry_at is not None and facts.retry_at >= min(given_up_at, now + timedelta(seconds=self.most_s or 0)):
            return f"the breaker of {tool} lets no call through before {facts.retry_at:%Y-%m-%d %H:%M:%S} UTC"
        if before is not None and now < max(before.until, before.since + _ONE_DAY):
            return f"calls of {tool} wait for its breaker since {before.since:%Y-%m-%d %H:%M:%S} UTC, or did"
        return ""


@dataclass(frozen=True, init=False)
class Reroute(Strategy):
    """Take another route: a transition for `escape.reroute`, or an entry point that accepts the agent.

    A search in the chart finds the entry points that lead away from the failure, or `at` names them. An entry point
    moves before another if it has clearly led to progress more often in agents of this graph. The agent keeps its
    context, updated from the payload.
    """

    at: tuple[str, ...]  # entry points; empty for a search
    payload: Brought | None  # payload for the entry points

    def __init__(self, at: Iterable[Name] | Name = (), *, payload: Brought | None = None) -> None:
        fill(self, at=names_of(at), payload=payload)

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        if self._leads_away(scene):
            yield TakeTransition()
        payload = _payload_of(self.payload, scene)
        doors = self.at or (*self._routes(scene, scene.failed_states), *self._routes(scene, scene.leaves))
        for door in clearly_better_first(tuple(dict.fromkeys(doors)), partial(_record_of, scene)):
            yield EnterAt(door, payload)
        if not doors:
            yield NoWay("no transition and no entry point leads away from what failed")

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:
        """See Strategy."""
        yield from unknown_names(f"{place}, at", "entry point", self.at, known.entry_points)
        yield from _faults_of(place, self.payload)

    def _routes(self, scene: Scene, failed: tuple[StateName, ...]) -> tuple[str, ...]:
        return routes(scene.graph, scene.leaves, failed, scene.failed_tools)

    def _leads_away(self, scene: Scene) -> bool:
        """Return whether a transition for its event leads away from the failure. Guards are evaluated later."""
        edges = (edge for group in candidates(scene.graph, scene.leaves, self.event) for edge in group)
        return any(leads_away(scene.graph, target, scene.failed_states) for edge in edges for target in edge.targets)


@dataclass(frozen=True, init=False)
class CutOut(Strategy):
    """Cut the repeated block out of the conversation and continue before it: the agent re-enters its active states.

    The cut applies to a list in the context, and to the transcripts of model loops, where each turn of a model is cut
    with the results of its calls. A block in a transcript stays if it has a successful call that must not be repeated,
    unless `allow` names the tool.
    """

    field: str  # field of the context, with a list
    summary: str  # text in place of the block
    allow: tuple[str, ...]

    looks_back: ClassVar[bool] = True

    def __init__(self, field: Name = _USUAL_FIELD, summary: str = "", *, allow: Iterable[Name] | Name = ()) -> None:
        fill(self, field=name_of(field), summary=summary, allow=names_of(allow))

    @property
    def name(self) -> str:
        """The strategy's name, with its field if that is not the default: `cut_out_of_notes`."""
        return _name_of(self, "of", () if self.field == _USUAL_FIELD else (self.field,))

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        since = scene.before_block
        if since is None:
            yield NoWay("its past does not go back to where the block began")
        else:
            yield CutBlock(self.field, since, self.summary, scene.first_call, self.allow)

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:
        """See Strategy. A graph without the default field may have its conversations only in transcripts of models."""
        if self.field != _USUAL_FIELD:
            yield from unknown_names(f"{place}, field", "field", [self.field], known.fields)


@dataclass(frozen=True, init=False)
class Rollback(Strategy):
    """Roll back to the last version before the block, or to the last one in a state with `checkpoint=True`.

    The rollback is refused if it would repeat a successful call that must not be repeated, unless `allow` names the
    tool, or the tool has `undo=`: then the calls are undone first, starting with the newest.
    """

    to: Literal["block", "checkpoint"]
    keep: tuple[str, ...]  # fields of the context that keep their current values
    allow: tuple[str, ...]

    looks_back: ClassVar[bool] = True
    goes_back: ClassVar[bool] = True

    def __init__(
        self,
        to: Literal["block", "checkpoint"] = "block",
        *,
        keep: Iterable[Name] | Name = (),
        allow: Iterable[Name] | Name = (),
    ) -> None:
        if to not in ("block", "checkpoint"):
            raise ValueError(f"there is no way back to {to!r}; write 'block' or 'checkpoint'")
        fill(self, to=to, keep=names_of(keep), allow=names_of(allow))

    @property
    def name(self) -> str:
        """The strategy's name: `rollback`, or `rollback_to_checkpoint`."""
        return _name_of(self, "to", () if self.to == "block" else (self.to,))

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        version = scene.before_block if self.to == "block" else self._checkpoint(scene)
        if version is None:
            yield NoWay(f"its past does not go back to a {self.to}")
        else:
            yield GoBack(version, self.keep, self.allow)

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:
        """See Strategy."""
        yield from unknown_names(f"{place}, keep", "field", self.keep, known.fields)

    def _checkpoint(self, scene: Scene) -> int | None:
        before = scene.before_block or 0
        marked = (name for name, node in scene.graph.nodes.items() if node.checkpoint)
        leaves = {leaf for name in marked for leaf in scene.graph.leaves(name)}
        return scene.last_version(lambda turn: turn.version <= before and not leaves.isdisjoint(turn.configuration))


@dataclass(frozen=True, init=False)
class Restart(Strategy):
    """Restart the agent at a declared entry point; by default, where it started and with the same payload.

    Guard and payload are checked as for a new agent. No exit actions run, and the agent gets a new context, except for
    the fields in `keep`. For calls that must not be repeated, see `Rollback`.
    """

    at: str
    payload: Brought | None
    keep: tuple[str, ...]
    allow: tuple[str, ...]

    looks_back: ClassVar[bool] = True
    goes_back: ClassVar[bool] = True

    def __init__(
        self,
        at: Name = "",
        *,
        payload: Brought | None = None,
        keep: Iterable[Name] | Name = (),
        allow: Iterable[Name] | Name = (),
    ) -> None:
        fill(self, at=name_of(at), payload=payload, keep=names_of(keep), allow=names_of(allow))

    @property
    def name(self) -> str:
        """The strategy's name, with its entry point if it has one: `restart_at_ASKING`."""
        return _name_of(self, "at", (self.at,) if self.at else ())

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        door = self.at or scene.snapshot.trail.entry_point or scene.began_at
        if not door:
            yield NoWay("it is not known at which entry point the agent began; name one with at=")
        else:
            payload = _payload_of(self.payload, scene) or _first_payload(scene, door)
            yield EnterAt(door, payload, is_fresh=True, keep=self.keep, allow=self.allow)

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:
        """See Strategy."""
        yield from unknown_names(f"{place}, at", "entry point", [self.at] if self.at else (), known.entry_points)
        yield from unknown_names(f"{place}, keep", "field", self.keep, known.fields)
        yield from _faults_of(place, self.payload)


@dataclass(frozen=True, init=False)
class Repair(Strategy):
    """Run a repair outside the chart and wait for its end: a function, or another agent (`Invoke(agent=…)`)."""

    flow: Invoke
    then: StateName  # next state if it succeeds
    otherwise: StateName  # next state if it fails

    def __init__(self, flow: Invoke | Callable[..., Any], then: Name, otherwise: Name = GAVE_UP) -> None:
        invoke = flow if isinstance(flow, Invoke) else Invoke(flow)
        fill(self, flow=invoke, then=name_of(then), otherwise=name_of(otherwise))

    @property
    def adds(self) -> Adds:
        """The state that waits for the flow."""
        return Adds(f"REPAIRING_BY_{self.flow.id}", flow=self.flow, then=self.then, otherwise=self.otherwise)


@value
class Alert(Strategy):
    """Alert people through a sink of the home's configuration, and continue with the next strategy."""

    sink: str
    text: str = ""  # replaces the default text

    @property
    def name(self) -> str:
        """The strategy's name, with its sink."""
        return f"alert_{self.sink}"

    def ways(self, scene: Scene) -> Iterator[Way]:
        """See Strategy."""
        yield SendAlert(self.sink, self.text or _text_for_people(scene))

    def faults(self, place: str, known: Nameable) -> Iterator[Fault]:  # noqa: ARG002
        """See Strategy."""
        if not self.sink or "@" in self.sink or "/" in self.sink:
            problem = f"{self.sink!r} is not the name of a sink"
            yield Fault(f"{place}, sink", problem, "name one of the home's configuration, which has its address")


def _name_of(strategy: Strategy, joint: str, named: tuple[str, ...]) -> str:
    """Return the name of a strategy with its parameters, so that strategies with different parameters differ."""
    return "_".join((usual_name(type(strategy)), *((joint, *named) if named else ())))


def _faults_of(place: str, payload: Brought | None) -> Iterator[Fault]:
    if payload is None:
        return
    if not callable(payload) or is_async(payload) or not fits(payload, 1):
        problem = f"payload={callable_name(payload) if callable(payload) else repr(payload)} cannot be asked"
        yield Fault(place, problem, "pass a plain function of (context)")


def _record_of(scene: Scene, door: str) -> Tally:
    entry = scene.graph.entry_points.get(door)
    return NONE if entry is None else scene.lessons.places.get(entry.state, NONE)


def _payload_of(payload: Brought | None, scene: Scene) -> Payload | None:
    given = None if payload is None else payload(scene.context)
    return given.model_dump(mode="json") if isinstance(given, BaseModel) else given


def _first_payload(scene: Scene, door: str) -> Payload | None:
    """Return the payload of the agent's own start at the entry point; None if unknown."""
    payload = next((turn.payload for turn in scene.past if turn.event == f"{STARTED}{door}"), None)
    return payload or None


def _text_for_model(scene: Scene) -> str:
    what = "You are repeating yourself without progress" if scene.is_loop else "This does not lead on"
    return f"{what} {_shown(scene)}. Do not do the same again; try another way, or say what is missing."


def _text_for_people(scene: Scene) -> str:
    what = "goes round in circles" if scene.is_loop else "does not get on"
    return f"{scene.snapshot.agent_id} {what} {_shown(scene)}"


def _shown(scene: Scene) -> str:
    """Return the signal with its evidence, shortened."""
    found = [*mappings(scene.evidence.get("evidence"))]
    block = next((entry["block"] for entry in found if entry.get("block")), found)
    shown = json.dumps(block, ensure_ascii=False, default=str)
    short = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1]}…"
    return f"({scene.report.signal}): {short}"
