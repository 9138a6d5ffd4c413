"""The graph of the directory: an agent keeps each entry that was registered, or of which there is something to keep."""

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
from gatechart.selection.rewards import ANY_KIND, Outcome, reward_of
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event, Snapshot
from gatechart.values.directory import CHOSEN, OUTCOME, DirectoryEntry, Ended, Mark, WorkOutcome
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.frozen import replaced
from gatechart.values.names import FRAMEWORK, AgentId
from gatechart.values.profiles import Candidate, Profile

MOST_BYTES: Final = 32_768  # of what is registered of an entry
MOST_OUTCOMES: Final = 50  # that an entry remembers one by one
MOST_RATINGS: Final = 200  # that an entry remembers
MOST_USERS: Final = 200  # for whom it completed work lately
LONGEST_TEXT: Final = 300  # characters of a text that is kept of work
KEPT_FOR: Final = timedelta(days=7)  # what is known of an entry that has left, in case it is registered again
_EXPIRY: Final = "expiry"  # keys of timers
_END: Final = "end"

REGISTER: Final = f"{FRAMEWORK}register"  # events, besides CHOSEN and OUTCOME
DEREGISTER: Final = f"{FRAMEWORK}deregister"
MARK: Final = f"{FRAMEWORK}mark"
RATE: Final = f"{FRAMEWORK}rate"
FORGET: Final = f"{FRAMEWORK}forget"


class EntryTerms(BaseModel):
    """What is registered of an entry, or which entry point of a graph it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    graph: str
    at: str  # empty: of a graph, for what is said of work that nobody was right for
    agent: AgentId = ""
    profile: Profile = Profile()
    text: str = ""
    capacity: int | None = None
    is_person: bool = False
    lasts_s: float | None = None
    registrant: str = ""
    is_local: bool = False


class Rating(BaseModel):
    """A person's answers about a piece of work that was handed on, whether it goes on or has ended."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    handoff: str
    needed: bool | None = None
    in_time: bool | None = None
    quality: float | None = None
    user: str = ""  # for whom the work is
    source: AgentId = ""  # the agent that handed it on

    @property
    def answers(self) -> dict[str, Any]:
        """What was said, by the names of the fields of an outcome."""
        given = {"needed": self.needed, "in_time": self.in_time, "quality": self.quality}
        return {name: each for name, each in given.items() if each is not None}


class MarkPayload(BaseModel):
    """An operator's mark."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    mark: Mark
    reason: str = ""


class OutcomePayload(BaseModel):
    """How work ended, see `WorkOutcome`. at: when it was accepted; None if that is not known."""

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
    """A choice that came out at the entry, see `KeptChoice`."""

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
    """What is kept of an entry."""

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
    ratings: list[Rating] = Field(default_factory=list)  # one for each handoff that was rated, the newest last
    users: list[str] = Field(default_factory=list)  # the newest last
    choices: list[KeptChoice] = Field(default_factory=list)  # that came out at this entry, the newest last
    former_registrant: str | None = None  # previous owner of the id, if it had another one
    changed_hands: datetime | None = None


def entry_context(snapshot: Snapshot) -> EntryContext:
    """Return what the agent of an entry keeps."""
    return EntryContext.model_validate(snapshot.context)


def entry_of(kept: EntryContext, local: Candidate | None = None) -> DirectoryEntry:
    """Return an entry without its load. local: the entry point that it is, as its graph declares it now."""
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
            State("LEFT", on_entry=_leave, description="expired or deregistered; what is known of it stays for a week"),
            State("FORGOTTEN", final=True),
        ],
        transitions=[
            Transition("REGISTERED", REGISTER, actions=[_change, _renew]),
            Transition("REGISTERED", "EXPIRE", "LEFT", guard=_has_expired),
            Transition("REGISTERED", DEREGISTER, "LEFT"),
            Transition("LEFT", REGISTER, "REGISTERED", actions=[_change, _stay]),
            Transition("LEFT", "END", "FORGOTTEN"),
            Transition(ANY, "EXPIRE"),  # it was set before a renewal
            Transition(ANY, MARK, actions=_mark),
            Transition(ANY, OUTCOME, guard=_is_new, actions=_note),
            Transition(ANY, OUTCOME),
            Transition(ANY, CHOSEN, actions=_keep),
            Transition(ANY, RATE, actions=_rate),
            Transition(ANY, FORGET, actions=_forget),
        ],
        entry_points=[
            EntryPoint("REGISTERED", takes=EntryTerms, maps=_begun, description="somebody registered it"),
            EntryPoint("LOCAL", takes=EntryTerms, maps=_begun, description="there is something to keep of it"),
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
    """Return whether an outcome counts: once only, and only if the present registrant accepted the work."""
    accepted, since = event.payload.get("at"), context.changed_hands
    if since is not None and accepted is not None and datetime.fromisoformat(accepted) < since:
        return False
    return all(each.handoff != event.payload["handoff"] for each in context.outcomes)


def _note(context: EntryContext, event: Event) -> None:
    told = event.payload
    ended = Ended(told["ended"])
    user = str(told.get("user", ""))[:LONGEST_TEXT]
    outcome = WorkOutcome(
        handoff=told["handoff"],
        ended=ended,
        at=event.time,
        user=user,
        source=told.get("source", ""),
        reason=str(told.get("reason", ""))[:LONGEST_TEXT],
        kind=str(told.get("kind", ""))[:LONGEST_TEXT],
        handed_on=int(told.get("handed_on", 0)),
        took_s=_seconds_since(told.get("at"), event.time),
        cost=told.get("cost"),
    )
    said = next((each.answers for each in context.ratings if each.handoff == outcome.handoff), {})
    context.outcomes = [*context.outcomes, replaced(outcome, **said)][-MOST_OUTCOMES:]
    context.completed += ended is Ended.COMPLETED
    context.failed += ended is Ended.FAILED
    context.came_back += ended is Ended.CAME_BACK
    context.performance = context.performance.after(reward_of(_worth(outcome)), outcome.kind or ANY_KIND)
    if context.choices:
        context.choices = with_outcome(context.choices, outcome)
    if user and ended is Ended.COMPLETED:
        context.users = [*(each for each in context.users if each != user), user][-MOST_USERS:]


def _worth(outcome: WorkOutcome) -> Outcome:
    came_back = outcome.ended is Ended.CAME_BACK
    return Outcome(came_back or outcome.ended is Ended.COMPLETED, came_back, handed_on=outcome.handed_on)


def _seconds_since(moment: str | None, now: datetime) -> float:
    return 0.0 if moment is None else max((now - datetime.fromisoformat(moment)).total_seconds(), 0.0)


def _keep(context: EntryContext, event: Event) -> None:
    context.choices = with_choice(context.choices, event.payload, event.time)


def _rate(context: EntryContext, event: Event) -> None:
    rating = Rating.model_validate(event.payload)
    before = next((each for each in context.ratings if each.handoff == rating.handoff), rating)
    others = [each for each in context.ratings if each.handoff != rating.handoff]
    context.ratings = [*others, before.model_copy(update=rating.answers)][-MOST_RATINGS:]
    context.outcomes = [
        replaced(each, **rating.answers) if each.handoff == rating.handoff else each for each in context.outcomes
    ]
    if rating.quality is not None and context.choices:
        context.choices = with_quality(context.choices, rating.handoff, rating.quality)


def digest_of(name: str) -> str:
    """Return what stands for a user or an agent that is to be forgotten, so that no history keeps the name itself."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()


def mentions(context: EntryContext, name: str) -> bool:
    """Tell whether something is kept about a user or an agent."""
    kept: tuple[WorkOutcome | KeptChoice | Rating, ...] = (*context.outcomes, *context.choices, *context.ratings)
    return name in context.users or any(name in (each.user, each.source) for each in kept)


def _forget(context: EntryContext, event: Event) -> None:
    digest = event.payload["digest"]
    context.outcomes = [each for each in context.outcomes if digest not in map(digest_of, (each.user, each.source))]
    context.choices = [each for each in context.choices if digest not in map(digest_of, (each.user, each.source))]
    context.ratings = [each for each in context.ratings if digest not in map(digest_of, (each.user, each.source))]
    context.users = [each for each in context.users if digest_of(each) != digest]
