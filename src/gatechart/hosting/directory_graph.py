"""The graph of the directory: one agent for each registered entry, and for each entry point with records."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NonNegativeInt

from gatechart.context import AgentContext
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.hosting.kept_choices import KeptChoice, with_choice, with_outcome, with_quality
from gatechart.hosting.own_agents import NoPayload
from gatechart.selection.performance import Performance
from gatechart.selection.rewards import ANY_KIND, EndedWork, reward_of
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event, Snapshot
from gatechart.values.directory import CHOSEN, OUTCOME, DirectoryEntry, Ended, Mark, WorkOutcome
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.frozen import replaced
from gatechart.values.names import FRAMEWORK, AgentId
from gatechart.values.profiles import Candidate, Profile

MOST_BYTES: Final = 32_768  # of the terms of a registered entry
MOST_OUTCOMES: Final = 50  # in the record of an entry, the newest
MOST_RATINGS: Final = 200  # in the record of an entry, the newest
MOST_USERS: Final = 200  # in the record of an entry: those with the latest completed work
LONGEST_TEXT: Final = 300  # characters of each text in the record of a piece of work
KEPT_FOR: Final = timedelta(days=7)  # record of an entry that has left, in case it is registered again
_EXPIRY: Final = "expiry"  # key of a timer
_END: Final = "end"  # key of a timer

REGISTER: Final = f"{FRAMEWORK}register"  # events; CHOSEN and OUTCOME are others
DEREGISTER: Final = f"{FRAMEWORK}deregister"
MARK: Final = f"{FRAMEWORK}mark"
RATE: Final = f"{FRAMEWORK}rate"
FORGET: Final = f"{FRAMEWORK}forget"


class EntryTerms(BaseModel):
    """The terms of a registered entry, or the name of a graph's entry point."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    graph: str
    at: str  # empty: of a graph, for ratings of its work without a match
    agent: AgentId = ""
    profile: Profile = Profile()
    text: str = ""
    capacity: int | None = None
    is_person: bool = False
    lasts_s: float | None = None
    registrant: str = ""
    is_local: bool = False


class Rating(BaseModel):
    """A person's answers about a handoff, whose work is running or has ended."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    handoff: str
    needed: bool | None = None
    in_time: bool | None = None
    quality: float | None = None
    user: str = ""  # the user that the work is for
    source: AgentId = ""  # the agent that offered the handoff

    @property
    def answers(self) -> dict[str, Any]:
        """The answers, by the names of the fields of an outcome."""
        answers = {"needed": self.needed, "in_time": self.in_time, "quality": self.quality}
        return {name: answer for name, answer in answers.items() if answer is not None}


class MarkPayload(BaseModel):
    """An operator's mark."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    mark: Mark
    reason: str = ""


class OutcomePayload(BaseModel):
    """How work ended, see `WorkOutcome`. at: when it was accepted; None if unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    handoff: str
    ended: Ended
    user: str = ""
    source: AgentId = ""
    reason: str = ""
    kind: str = ""
    handed_on: NonNegativeInt = 0
    at: AwareDatetime | None = None
    cost: float | None = None


class ChosenPayload(BaseModel):
    """A choice of the entry, see `KeptChoice`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    handoff: str
    features: str
    ranked: list[tuple[str, str, float, float]] = Field(min_length=1)
    prior: float
    departs: bool
    user: str
    source: AgentId
    rival: str = ""
    rival_group: str = ""
    expected_s: float | None = None
    expected_cost: float | None = None


class ForgetPayload(BaseModel):
    """The digest of a user or an agent to forget, see `digest_of`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    digest: str = Field(pattern="^[0-9a-f]{64}$")


class EntryContext(AgentContext):
    """The record of an entry."""

    model_config = ConfigDict(defer_build=True)

    terms: EntryTerms
    is_registered: bool = True
    expires: datetime | None = None
    mark: Mark = Mark.NONE
    mark_reason: str = ""
    performance: Performance = Performance()
    completed: int = 0
    failed: int = 0
    came_back: int = 0
    outcomes: list[WorkOutcome] = Field(default_factory=list)  # the newest last
    ratings: list[Rating] = Field(default_factory=list)  # one for each rated handoff, the newest last
    users: list[str] = Field(default_factory=list)  # the newest last
    choices: list[KeptChoice] = Field(default_factory=list)  # choices of this entry, the newest last
    former_registrant: str | None = None  # previous owner of the id, if it was a different one
    changed_hands: datetime | None = None


def entry_context(snapshot: Snapshot) -> EntryContext:
    """Return the record of an entry from its agent."""
    return EntryContext.model_validate(snapshot.context)


def entry_of(kept: EntryContext, local: Candidate | None = None) -> DirectoryEntry:
    """Return an entry without its load. local: the entry point as its graph now declares it; None if registered."""
    candidate = replaced(
        _registered(kept.terms) if local is None else local,
        is_open=kept.mark is not Mark.CLOSED,
        is_pinned=kept.mark is Mark.PINNED,
        is_excluded=kept.mark is Mark.EXCLUDED,
        mark_reason=kept.mark_reason,
        performance=kept.performance.overall,
        users=tuple(kept.users),
    )
    return DirectoryEntry(
        candidate=candidate,
        mark=kept.mark,
        mark_reason=kept.mark_reason,
        registrant=kept.terms.registrant,
        expires=kept.expires,
        completed=kept.completed,
        failed=kept.failed,
        came_back=kept.came_back,
        outcomes=tuple(kept.outcomes),
        former_registrant=kept.former_registrant,
        changed_hands=kept.changed_hands,
    )


def _registered(terms: EntryTerms) -> Candidate:
    return Candidate(
        id=terms.id,
        graph=terms.graph,
        entry_point=terms.at,
        agent=terms.agent,
        profile=terms.profile,
        text=terms.text,
        is_local=terms.is_local,
        is_person=terms.is_person,
        capacity=terms.capacity,
    )


def directory_graph() -> AnyGraph:
    """Return the graph whose agents keep the entries of a directory."""
    return FrameworkGraph(
        DIRECTORY_GRAPH,
        context=EntryContext,
        states=[
            State("LOCAL", description="an entry point of a graph of this home"),
            State("REGISTERED", on_entry=_renew),
            State("LEFT", on_entry=_leave, description="expired or deregistered; its record is kept for a week"),
            State("FORGOTTEN", final=True),
        ],
        transitions=[
            Transition("REGISTERED", REGISTER, actions=[_change, _renew]),
            Transition("REGISTERED", "EXPIRE", "LEFT", guard=_has_expired),
            Transition("REGISTERED", DEREGISTER, "LEFT"),
            Transition("LEFT", REGISTER, "REGISTERED", actions=[_change, _stay]),
            Transition("LEFT", "END", "FORGOTTEN"),
            Transition(ANY, "EXPIRE"),  # from a timer that was set before a renewal
            Transition(ANY, MARK, actions=_mark),
            Transition(ANY, OUTCOME, guard=_is_new, actions=_note),
            Transition(ANY, OUTCOME),
            Transition(ANY, CHOSEN, actions=_keep),
            Transition(ANY, RATE, actions=_rate),
            Transition(ANY, FORGET, actions=_forget),
        ],
        entry_points=[
            EntryPoint("REGISTERED", takes=EntryTerms, maps=_begun, description="a registered entry"),
            EntryPoint("LOCAL", takes=EntryTerms, maps=_begun, description="an entry point with records"),
        ],
        events=[
            EventType(REGISTER, takes=EntryTerms),
            EventType(DEREGISTER, takes=NoPayload),
            EventType(MARK, takes=MarkPayload),
            EventType(OUTCOME, takes=OutcomePayload),
            EventType(CHOSEN, takes=ChosenPayload),
            EventType(RATE, takes=Rating),
            EventType(FORGET, takes=ForgetPayload),
            "EXPIRE",
            "END",
        ],
        events_closed=True,
    )


def _begun(terms: EntryTerms) -> dict[str, EntryTerms]:
    return {"terms": terms}


def _has_expired(context: EntryContext, event: Event) -> bool:
    return context.expires is not None and context.expires <= event.time


def _change(context: EntryContext, event: Event) -> None:
    terms = EntryTerms.model_validate(event.payload)
    if terms.registrant != context.terms.registrant:
        _drop_record(context, event)
    context.terms = terms


def _drop_record(context: EntryContext, event: Event) -> None:
    """Start an empty record for a new registrant, which inherits neither results nor a pin.

    An entry that an operator closed or excluded stays closed or excluded.
    """
    context.former_registrant, context.changed_hands = context.terms.registrant, event.time
    context.performance = Performance()
    context.completed = context.failed = context.came_back = 0
    context.outcomes, context.ratings, context.users, context.choices = [], [], [], []
    if context.mark is Mark.PINNED:
        context.mark, context.mark_reason = Mark.NONE, ""


def _renew(context: EntryContext, _event: Event, turn: Turn) -> None:
    lasts_s = context.terms.lasts_s
    context.is_registered = True
    context.expires = None if lasts_s is None else turn.now + timedelta(seconds=lasts_s)
    turn.cancel(_EXPIRY)
    if lasts_s is not None:
        turn.after(lasts_s, "EXPIRE", key=_EXPIRY)


def _leave(context: EntryContext, _event: Event, turn: Turn) -> None:
    context.is_registered = False
    turn.cancel(_EXPIRY)
    turn.after(KEPT_FOR, "END", key=_END)


def _stay(_context: EntryContext, _event: Event, turn: Turn) -> None:
    turn.cancel(_END)


def _mark(context: EntryContext, event: Event) -> None:
    context.mark = Mark(event.payload["mark"])
    context.mark_reason = event.payload.get("reason", "")


def _is_new(context: EntryContext, event: Event) -> bool:
    """Return whether an outcome is new, and of work that the present registrant accepted."""
    accepted, since = event.payload.get("at"), context.changed_hands
    if since is not None and accepted is not None and datetime.fromisoformat(accepted) < since:
        return False
    return all(outcome.handoff != event.payload["handoff"] for outcome in context.outcomes)


def _note(context: EntryContext, event: Event) -> None:
    payload = event.payload
    ended = Ended(payload["ended"])
    user = str(payload.get("user", ""))[:LONGEST_TEXT]
    outcome = WorkOutcome(
        handoff=payload["handoff"],
        ended=ended,
        at=event.time,
        user=user,
        source=payload.get("source", ""),
        reason=str(payload.get("reason", ""))[:LONGEST_TEXT],
        kind=str(payload.get("kind", ""))[:LONGEST_TEXT],
        handed_on=int(payload.get("handed_on", 0)),
        took_s=_seconds_since(payload.get("at"), event.time),
        cost=payload.get("cost"),
    )
    answers = next((rating.answers for rating in context.ratings if rating.handoff == outcome.handoff), {})
    context.outcomes = [*context.outcomes, replaced(outcome, **answers)][-MOST_OUTCOMES:]
    context.completed += ended is Ended.COMPLETED
    context.failed += ended is Ended.FAILED
    context.came_back += ended is Ended.CAME_BACK
    context.performance = context.performance.after(reward_of(_reward_input(outcome)), outcome.kind or ANY_KIND)
    if context.choices:
        context.choices = with_outcome(context.choices, outcome)
    if user and ended is Ended.COMPLETED:
        context.users = [*(other for other in context.users if other != user), user][-MOST_USERS:]


def _reward_input(outcome: WorkOutcome) -> EndedWork:
    came_back = outcome.ended is Ended.CAME_BACK
    return EndedWork(came_back or outcome.ended is Ended.COMPLETED, came_back, handed_on=outcome.handed_on)


def _seconds_since(moment: str | None, now: datetime) -> float:
    return 0.0 if moment is None else max((now - datetime.fromisoformat(moment)).total_seconds(), 0.0)


def _keep(context: EntryContext, event: Event) -> None:
    context.choices = with_choice(context.choices, event.payload, event.time)


def _rate(context: EntryContext, event: Event) -> None:
    rating = Rating.model_validate(event.payload)
    before = next((old for old in context.ratings if old.handoff == rating.handoff), rating)
    others = [other for other in context.ratings if other.handoff != rating.handoff]
    context.ratings = [*others, before.model_copy(update=rating.answers)][-MOST_RATINGS:]
    context.outcomes = [
        replaced(outcome, **rating.answers) if outcome.handoff == rating.handoff else outcome
        for outcome in context.outcomes
    ]
    if rating.quality is not None and context.choices:
        context.choices = with_quality(context.choices, rating.handoff, rating.quality)


def digest_of(name: str) -> str:
    """Return the digest of a user or an agent to forget: histories keep the digest instead of the name."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()


def mentions(context: EntryContext, name: str) -> bool:
    """Return whether a record mentions a user or an agent."""
    kept: tuple[WorkOutcome | KeptChoice | Rating, ...] = (*context.outcomes, *context.choices, *context.ratings)
    return name in context.users or any(name in (item.user, item.source) for item in kept)


def _forget(context: EntryContext, event: Event) -> None:
    digest = event.payload["digest"]
    context.outcomes = [item for item in context.outcomes if not _is_about(digest, item)]
    context.choices = [item for item in context.choices if not _is_about(digest, item)]
    context.ratings = [item for item in context.ratings if not _is_about(digest, item)]
    context.users = [user for user in context.users if digest_of(user) != digest]


def _is_about(digest: str, item: WorkOutcome | KeptChoice | Rating) -> bool:
    return digest in map(digest_of, (item.user, item.source))
