"""The door: whatever no store could keep or read again is refused there, alike on all homes, and changes nothing."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import AwareDatetime, BaseModel, Field

from gatechart import ANY, AgentContext, EntryPoint, Handoff, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import InvalidGraphError, NoHandoffError, PayloadError, UnknownAgentError, UnknownMailError
from gatechart.graph.handoff import Fallbacks, OtherGraph, SameTarget
from gatechart.testing import VirtualClock
from gatechart.values.names import LATEST, LONGEST_NAME, LONGEST_REASON
from tests.runtime.support import nothing_changes, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough

HALF = "a\ud800b"
LONG = "x" * (LONGEST_NAME + 1)
JUST = "ü" * LONGEST_NAME
UNKEPT = [HALF, "a\0b", LONG]
TOO_LATE = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(-timedelta(hours=5)))
TOO_EARLY = datetime(1, 1, 1, 0, 0, tzinfo=timezone(timedelta(hours=5)))
FAR = [TOO_LATE, TOO_EARLY]

ids = pytest.mark.parametrize("text", UNKEPT, ids=["half a character", "NUL", "too long"])
moments = pytest.mark.parametrize("moment", FAR, ids=["too late", "too early"])


class Notes(AgentContext):
    refused: list[str] = Field(default_factory=list)
    when: AwareDatetime | None = None


class Brought(BaseModel):
    when: AwareDatetime


def attempt(context, event, turn):
    """Does what the event says with the text or the moment that the services have; and keeps what that raised."""
    try:
        DONE[event.payload["what"]](turn, turn.services)
    except (PayloadError, UnknownAgentError):
        context.refused.append(event.payload["what"])


DONE = {
    "send to": lambda turn, text: turn.send(text, "TOLD"),
    "send an event": lambda turn, text: turn.send("b", text),
    "send with an id": lambda turn, text: turn.send("b", "TOLD", event_id=text),
    "send at": lambda turn, moment: turn.send("b", "TOLD", due=moment),
    "raise": lambda turn, text: turn.raise_event(text),
    "set a timer": lambda turn, text: turn.after("1h", "LATE", key=text),
    "set a timer of an event": lambda turn, text: turn.after("1h", text),
    "hand on to": lambda turn, text: turn.handoff(text, at="PACKING"),
    "hand on at": lambda turn, text: turn.handoff("parcel", at=text),
    "hand on to an agent": lambda turn, text: turn.handoff("parcel", at="PACKING", agent=text),
    "hand on with fallbacks": lambda turn, text: turn.handoff(
        "parcel", at="PACKING", fallbacks=Fallbacks(SameTarget(), OtherGraph("parcel", at="PACKING", agent=text))
    ),
    "hand on until": lambda turn, moment: turn.handoff("parcel", at="PACKING", deadline=moment),
    "cancel": lambda turn, text: turn.cancel(text),
    "achieve": lambda turn, text: turn.handoff("parcel", at="PACKING", achieved=text),
}
WITH_A_MOMENT = ("send at", "hand on until")
WITH_WORDS = ("cancel", "achieve")


def keep(context, event):
    context.when = event.payload["when"]


async def step(context, work):
    return await work.step(work.services, lambda: 1)


async def key(context, work):
    return work.idempotency_key(work.services)


noting = StateTransitionGraph(
    "noting",
    context=Notes,
    states=[
        "RESTING",
        State("STEPPING", invoke=Invoke(step, id="step")),
        State("NAMING", invoke=Invoke(key, id="key")),
        "FAILED",
    ],
    transitions=[
        Transition(ANY, "TRIED", actions=attempt),
        Transition(ANY, "KEPT", actions=keep),
        Transition("RESTING", "STEPPED", "STEPPING"),
        Transition("RESTING", "NAMED", "NAMING"),
        Transition("STEPPING", "error.invoke.*", "FAILED"),
        Transition("NAMING", "error.invoke.*", "FAILED"),
    ],
    entry_points=["RESTING", EntryPoint("RESTING", name="BROUGHT", takes=Brought)],
)


def bad_calls(text):
    """What a caller can say of an agent `a`, each with this text."""
    return {
        "start": lambda runtime, _: runtime.start("noting", at="RESTING", agent_id=text),
        "post to": lambda runtime, _: runtime.post(text, "TOLD"),
        "post an event": lambda runtime, _: runtime.post("a", text),
        "post with an id": lambda runtime, _: runtime.post("a", "TOLD", event_id=text),
        "send an event": lambda _, agent: agent.send(text),
        "send with an id": lambda _, agent: agent.send("TOLD", event_id=text),
        "go back once": lambda _, agent: agent.rollback(1, reason="so", idempotency_key=text),
        "hand on to": lambda runtime, _: runtime.handoff("a", Handoff(text, at="PACKING")),
        "hand on at": lambda runtime, _: runtime.handoff("a", Handoff("parcel", at=text)),
        "hand on to an agent": lambda runtime, _: runtime.handoff("a", Handoff("parcel", at="PACKING", agent=text)),
    }


def unreadable_calls(text):
    """The same, where a text that is only too long is let in: it was accepted once, or is none of an index."""
    return {
        "go back": lambda _, agent: agent.rollback(1, reason=text),
        "cancel a handoff": lambda runtime, _: runtime.cancel_handoff(text, reason="so"),
        "cancel a handoff because": lambda runtime, _: runtime.cancel_handoff("h", reason=text),
        "handoffs": lambda runtime, _: runtime.handoffs(handoff_id=text),
        "handoffs of a request": lambda runtime, _: runtime.handoffs(request=text),
        "handoffs of a source": lambda runtime, _: runtime.handoffs(source=text),
        "handoffs of a target": lambda runtime, _: runtime.handoffs(target=text),
        "resume": lambda runtime, _: runtime.resume(text),
        "history": lambda runtime, _: runtime.history(text),
        "stop": lambda runtime, _: runtime.stop(text),
        "erase": lambda runtime, _: runtime.erase(text),
        "mail": lambda runtime, _: runtime.mail(text),
        "find": lambda runtime, _: runtime.find(after=text),
    }


@pytest.mark.one_variant_is_enough
@ids
@pytest.mark.parametrize("call", list(bad_calls("")))
async def test_what_no_store_can_keep_is_refused_to_callers(place, text, call):
    async with Runtime.open(place, graphs=[noting, parcel]) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        async with nothing_changes(runtime, agent):
            with pytest.raises((PayloadError, UnknownAgentError)):
                await bad_calls(text)[call](runtime, agent)


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("text", UNKEPT[:2], ids=["half a character", "NUL"])
@pytest.mark.parametrize("call", list(unreadable_calls("")))
async def test_what_nothing_can_be_called_is_refused_to_callers(place, text, call):
    async with Runtime.open(place, graphs=[noting, parcel]) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        async with nothing_changes(runtime, agent):
            with pytest.raises((NoHandoffError, PayloadError, UnknownAgentError)):
                await unreadable_calls(text)[call](runtime, agent)


async def test_reasons_are_longer_but_not_of_any_length(place):
    async with Runtime.open(place, graphs=[noting]) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        with pytest.raises(PayloadError, match=r"reason.*10,001 characters, 10,000 at most"):
            await agent.rollback(1, reason="x" * (LONGEST_REASON + 1))
        with pytest.raises(PayloadError, match="10,000 at most"):
            await runtime.cancel_handoff("h", reason="x" * (LONGEST_REASON + 1))
        assert (await agent.rollback(1, reason="ü" * LONGEST_REASON)).version == 2


@pytest.mark.one_variant_is_enough
@ids
@pytest.mark.parametrize("what", [what for what in DONE if what not in (*WITH_A_MOMENT, *WITH_WORDS)])
async def test_what_no_store_can_keep_is_refused_to_actions(place, text, what):
    async with Runtime.open(place, graphs=[noting, parcel], services=text) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        await agent.send("TRIED", {"what": what})
        assert agent.context.refused == [what]
        assert await runtime.handoffs() == await runtime.mail("b") == []


@pytest.mark.parametrize("text", UNKEPT[:2], ids=["half a character", "NUL"])
@pytest.mark.parametrize("what", WITH_WORDS)
async def test_words_that_no_store_can_keep_are_refused_to_actions(place, text, what):
    async with Runtime.open(place, graphs=[noting, parcel], services=text) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        await agent.send("TRIED", {"what": what})
        assert agent.context.refused == [what]


@pytest.mark.parametrize(("event", "text"), [*(("STEPPED", text) for text in UNKEPT), ("NAMED", HALF)])
async def test_what_no_store_can_keep_fails_an_invoke(place, text, event):
    async with Runtime.open(place, graphs=[noting], services=text) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        await agent.send(event)
        await soon(agent.until("FAILED"))


async def test_the_longest_that_may_be_is_kept(place):
    """In each place of an index at once, and in the characters that take most room."""
    largest = "\U0001f600" * LONGEST_NAME
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id=largest)
        await agent.send("STAMPED", {"at": "x"}, event_id=largest)
        await runtime.post(largest, "STAMPED", {"at": "y"}, event_id=f"{JUST[:-1]}1")
        await runtime.post("nobody yet", JUST, event_id=JUST)
        assert (await runtime.resume(largest)).context.stops[:2] == ["entered", "x"]


@moments
async def test_a_moment_that_utc_does_not_have_is_refused_to_callers(place, moment):
    async with Runtime.open(place, graphs=[noting, parcel]) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        async with nothing_changes(runtime, agent):
            with pytest.raises(PayloadError, match="between the years 1 and 9999"):
                await runtime.post("a", "TOLD", due=moment)
            with pytest.raises(PayloadError, match=r"between the years 1 and 9999|is not a duration"):
                await runtime.handoff("a", Handoff("parcel", at="PACKING", deadline=moment))


@moments
@pytest.mark.parametrize("what", WITH_A_MOMENT)
async def test_a_moment_that_utc_does_not_have_is_refused_to_actions(place, moment, what):
    async with Runtime.open(place, graphs=[noting, parcel], services=moment) as runtime:
        agent = await runtime.start("noting", at="RESTING", agent_id="a")
        await agent.send("TRIED", {"what": what})
        assert agent.context.refused == [what]


@moments
async def test_such_a_moment_may_be_in_payloads_and_contexts(place, moment):
    """There it is a text of whoever brings it; and what holds it is read again like anything else."""
    async with Runtime.open(place, graphs=[noting]) as runtime:
        agent = await runtime.start("noting", at="BROUGHT", agent_id="a", payload=Brought(when=moment))
        assert agent.context.when == moment
        await agent.send("KEPT", {"when": moment})
        await runtime.post("nobody yet", "TOLD", {"when": moment})
        await runtime.post("a", "KEPT", Brought(when=moment))
    async with Runtime.open(place, graphs=[noting]) as runtime:
        agent = await runtime.resume("a")
        await agent.send("KEPT", {"when": moment})
        assert agent.context.when == moment
        assert len(await runtime.history("a")) == 4
        assert len(await runtime.mail("nobody yet")) == 1


async def test_moments_are_kept_in_utc(place):
    due = datetime(2200, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, seconds=1)))
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="a")
        await runtime.post("a", "STAMPED", due=due)
        (mail,) = await runtime.mail("a")
        assert (mail.due, mail.due.utcoffset()) == (due, timedelta(0))


async def test_the_last_moment_that_there_is_can_be_waited_for(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="a")
        await runtime.post("a", "STAMPED", due=LATEST)
        await runtime.post("a", "STAMPED", due=datetime.max.replace(tzinfo=UTC) - timedelta(days=1))
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        assert {mail.due.year for mail in await runtime.mail("a")} == {9999}
        assert (await runtime.resume("a")).snapshot.version == 1


@pytest.mark.parametrize("text", [HALF, LONG], ids=["half a character", "too long"])
@pytest.mark.parametrize(
    "made",
    [
        lambda text: StateTransitionGraph(text, states=["A"], entry_points=["A"]),
        lambda text: StateTransitionGraph("g", version=text, states=["A"], entry_points=["A"]),
        lambda text: StateTransitionGraph("g", states=["A", text], entry_points=["A"]),
        lambda text: StateTransitionGraph("g", states=["A"], entry_points=[EntryPoint("A", name=text)]),
        lambda text: StateTransitionGraph("g", states=[State("A", invoke=Invoke(step, id=text))], entry_points=["A"]),
        lambda text: StateTransitionGraph(
            "g", states=["A"], transitions=[Transition("A", text * 2, "A")], entry_points=["A"]
        ),
    ],
    ids=["graph", "version", "state", "entry point", "invoke", "event"],
)
def test_a_graph_has_names_that_every_store_can_keep(text, made):
    with pytest.raises(InvalidGraphError, match=r"characters|surrogate"):
        made(text)


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("version", [2**70, -(2**70), "2", None])
@pytest.mark.parametrize("call", ["snapshot_at", "rollback"])
async def test_a_version_that_no_history_can_have_is_refused(place, clock, call, version):
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        more = {"reason": "a test"} if call == "rollback" else {}
        with pytest.raises(PayloadError, match="version is"):
            await getattr(agent, call)(version, **more)
        assert agent.snapshot.version == 1


@pytest.mark.needs("lists_all_mail")
@pytest.mark.parametrize("number", [2**70, -1, "2", None])
@pytest.mark.parametrize("call", ["retry", "discard"])
async def test_a_number_that_no_mail_can_have_is_unknown(place, clock, call, number):
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        with pytest.raises(UnknownMailError):
            await getattr(runtime, call)(number)
