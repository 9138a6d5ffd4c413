"""What is compared of an agent that moves, and what becomes of it, without an engine."""

from dataclasses import fields, replace
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatechart.api.errors import ErrorDocument
from gatechart.errors import AgentAsleepError
from gatechart.hosting.registry import Registry
from gatechart.restate.handlers import VERBS, decide
from gatechart.restate.migration.arrival import digest_of_agent, standing
from gatechart.restate.migration.departure import packed
from gatechart.restate.state import IDS, MAIL, STATE, AgentState, Applied, UnderWay, plain, unpacked
from gatechart.restate.terms import ServiceConfig
from gatechart.stores.sql.export import Departing
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from tests.api.strategies import entries, mail, numbers, outcomes, payloads, snapshots, some, texts
from tests.restate.travellers import traveller

FEW = settings(
    deadline=None, derandomize=True, database=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
CONFIG = ServiceConfig(Registry([traveller]))
NOW = datetime(2030, 1, 1, tzinfo=UTC)
running = st.builds(ActiveInvocation, st.builds(Invocation, epoch=numbers))
departing = st.builds(
    Departing,
    agent_id=st.just("a"),
    snapshot=st.none() | snapshots,
    mail=some(mail),
    calls=some(st.tuples(running, st.dictionaries(texts, texts, max_size=2))),
    offers=some(st.tuples(texts, st.sampled_from(HandoffStatus))),
    places=some(st.tuples(texts, texts)),
    applied=some(entries),
)


async def asked(verb, kept=None, ids=None, /, **told):
    """The decision, and what is kept and known then."""
    decided = unpacked((await decide(CONFIG, "a", kept, ids, verb, told)).packed())
    return decided, decided.state or kept, decided.ids or ids


def as_told(luggage):
    return {"kept": plain(STATE, luggage.state), "ids": plain(IDS, luggage.ids), "origin": "agents.db"}


@FEW
@given(departing)
async def test_whatever_an_agent_is_it_is_the_same_when_read_back_and_taken_in_again(leaving):
    luggage = packed(leaving, 200)
    decided, kept, ids = await asked("adopt", **as_told(luggage))
    if decided.state is None:  # there was nothing to it
        return
    assert decided.answer == {"taken": "new"}
    assert standing(STATE.validate_json(kept), ids) == {
        "digest": luggage.digest,
        "origin": "agents.db",
        "is_there": True,
    }
    read = STATE.validate_json(kept)
    for name in ("snapshot", "mail", "calls", "offers", "places"):
        assert getattr(read, name) == getattr(luggage.state, name)
    assert (IDS.validate_json(ids) if ids else {}) == luggage.ids
    again, _, _ = await asked("adopt", kept, ids, **as_told(luggage))
    assert (again.answer, again.state) == ({"taken": "same"}, None)


@FEW
@given(departing, st.data())
def test_whatever_is_different_has_another_digest(leaving, data):
    luggage = packed(leaving, 200)
    other = data.draw(st.sampled_from([each.name for each in fields(Departing)][1:]))
    changed = data.draw(
        {
            "snapshot": snapshots,
            "mail": mail.map(lambda each: (*leaving.mail, each)),
            "calls": st.tuples(running, st.just({"step": "1"})).map(lambda each: (*leaving.calls, each)),
            "offers": st.just((*leaving.offers, ("an offer", HandoffStatus.PENDING))),
            "places": st.just((*leaving.places, ("an offer", "a graph"))),
            "applied": entries.map(
                lambda each: (*leaving.applied, replace(each, event=replace(each.event, id="another id")))
            ),
            "journals": st.just((*leaving.journals, ("a journal", "a name", "1"))),
        }[other]
    )
    if changed != getattr(leaving, other):
        assert packed(replace(leaving, **{other: changed}), 200).digest != luggage.digest


@FEW
@given(payloads, outcomes)
def test_what_a_home_makes_up_for_itself_is_not_compared(payload, outcome):
    ids = {"event-1": Applied("digest", "NOTED", outcome)}
    there = Mail(3, "a", "NOTED", payload, NOW)
    late = Mail(7, "a", "NOTED", payload, NOW, id="late")
    kept = AgentState(mail=[there], numbers=7)
    moved = AgentState(
        life="l", mail=[there, late], numbers=8, asleep=7, projected=3, offers={"late": HandoffStatus.PENDING}
    )
    assert digest_of_agent(moved, ids) == digest_of_agent(kept, ids)
    assert digest_of_agent(replace(moved, asleep=0), ids) != digest_of_agent(kept, ids)


async def begun(snapshot_only=False):
    """A traveller that lives on the engine, and one that could be moved over it."""
    _, kept, _ = await asked("begin", graph="traveller", at="RESTING", payload={})
    snapshot = STATE.validate_json(kept).snapshot
    call = ActiveInvocation(Invocation("a", "READING", 1, "look_up"), "traveller", "1", "{}")
    timer = Mail(4, "a", "RANG", {}, NOW, due=datetime(2100, 1, 1, tzinfo=UTC), key="bell")
    waits = Mail(5, "a", "NOTED", {"n": 1}, NOW)
    mails, calls = ((), ()) if snapshot_only else ((timer, waits), ((call, {"first": '"done"'}),))
    return kept, packed(Departing("a", snapshot, mails, calls, (), (), ()), 200)


async def test_an_agent_that_lives_there_is_not_touched():
    kept, luggage = await begun()
    decided, _, _ = await asked("adopt", kept, **as_told(luggage))
    assert (decided.answer, decided.state) == ({"taken": "lives"}, None)


async def test_what_sleeps_is_not_replaced_by_an_agent_of_another_database():
    _, luggage = await begun(snapshot_only=True)
    _, kept, _ = await asked("adopt", **as_told(luggage))
    _, other = await begun()
    decided, _, _ = await asked("adopt", kept, **as_told(other) | {"origin": "other.db"})
    assert (decided.answer, decided.state) == ({"taken": "lives"}, None)


async def test_what_is_asleep_refuses_all_but_mail_and_does_nothing():
    _, luggage = await begun()
    _, kept, _ = await asked("adopt", **as_told(luggage))
    for verb in sorted(set(VERBS) - {"deliver", "drain", "wake", "projected", "erase", "adopt", "awaken"}):
        decided, _, _ = await asked(verb, kept)
        assert isinstance(ErrorDocument.model_validate(decided.answer["error"]).value(), AgentAsleepError)
        assert (decided.state, decided.orders) == (None, [])
    for verb, told in (("drain", {}), ("wake", {"number": 4})):
        decided, _, _ = await asked(verb, kept, **told)
        assert (decided.state, decided.orders, decided.following) == (None, [], "")
    decided, kept, _ = await asked("deliver", kept, mail=plain(MAIL, Mail(0, "a", "NOTED", {"n": 2}, NOW)))
    assert [each.number for each in STATE.validate_json(kept).mail] == [4, 5, 6]


async def test_who_awakens_sets_its_timers_begins_its_invokes_with_their_steps_and_takes_its_mail():
    _, luggage = await begun()
    _, kept, _ = await asked("adopt", **as_told(luggage))
    decided, kept, _ = await asked("awaken", kept)
    assert decided.answer == {"was_asleep": True}
    assert [each["do"] for each in decided.orders] == ["wake", "call", "drain"]
    assert decided.orders[1]["steps"] == {"first": '"done"'}
    read = STATE.validate_json(kept)
    assert (read.asleep, read.calls) == (0, [UnderWay(luggage.state.calls[0].running)])
    again, _, _ = await asked("awaken", kept)
    assert (again.answer, again.state, again.orders) == ({"was_asleep": False}, None, [])


async def test_journals_sleep_with_the_agent_and_are_kept_elsewhere_once_it_awakes():
    _, luggage = await begun()
    entries = [("talk", "1", '"hello"'), ("talk", "2", "null")]
    moving = replace(luggage, state=replace(luggage.state, journals=entries))
    _, kept, _ = await asked("adopt", **as_told(moving))
    assert standing(STATE.validate_json(kept), None)["digest"] != luggage.digest
    decided, kept, _ = await asked("awaken", kept)
    [order] = [each for each in decided.orders if each["do"] == "journals"]
    assert [tuple(each) for each in order["entries"]] == entries
    assert STATE.validate_json(kept).journals == []


async def test_who_sleeps_is_brought_up_to_date_and_what_came_meanwhile_stays_behind_its_mail():
    _, luggage = await begun(snapshot_only=True)
    _, kept, _ = await asked("adopt", **as_told(luggage))
    late = Mail(0, "a", "NOTED", {"n": "late"}, NOW, id="late")
    _, kept, _ = await asked("deliver", kept, mail=plain(MAIL, late))
    _, newer = await begun()
    decided, kept, _ = await asked("adopt", kept, **as_told(newer))
    assert decided.answer == {"taken": "new"}
    assert [each.payload.get("n") for each in STATE.validate_json(kept).mail] == [None, 1, "late"]
    assert standing(STATE.validate_json(kept), None)["digest"] == newer.digest
