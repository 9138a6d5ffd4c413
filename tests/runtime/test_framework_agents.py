"""The framework's own agents, graphs and ids: closed to every verb of a caller, to charts and to stored mail."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest
from pydantic import Field

from gatechart import (
    AgentContext,
    EntryPoint,
    Every,
    Fallbacks,
    Handoff,
    Human,
    Invoke,
    OtherGraph,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.alerts import Alerts
from gatechart.api.command import Command
from gatechart.api.commands import COMMANDS, KINDS
from gatechart.checks import check
from gatechart.errors import (
    ActionFailedError,
    EventError,
    FrameworkAgentError,
    InvalidGraphError,
    PayloadError,
    ReservedEventError,
)
from gatechart.hosting.own_agents import own_agents_of
from gatechart.schedules.graph import Terms
from gatechart.selection import Best, Needs, Profile
from gatechart.stores import MemoryStore, open_store
from gatechart.testing import VirtualClock
from gatechart.testing.records import NOON
from gatechart.turn.alerts import alert_payload
from gatechart.values.alerts import ALERT, AlertMessage
from gatechart.values.commits import Posting
from gatechart.values.directory import CHOSEN, OUTCOME
from gatechart.values.framework import (
    OWN_GRAPHS,
    OWN_KINDS,
    is_framework_graph,
    is_framework_id,
    loss_from,
)
from gatechart.values.lessons import LEARN
from gatechart.values.mail import Mail, MailStatus
from tests.insides import calls_of, effects_of

pytestmark = pytest.mark.sqlite_is_enough

AGENT, GRAPH, KEY = "the id of an agent", "the name of a graph", "a key that becomes the id of an agent"
IDS = ("alarm:a1", "alerts:ops", "directory:anna", "lessons:case", "schedule:nightly", "watchdog")  # that live
UNUSED = ("alarm:new", "alerts:new", "directory:new", "lessons:new", "schedule:new")
ALERT_1 = AlertMessage("a-1", "stuck", "case-1 stands still", NOON, agent_id="case-1")


class Sink:
    def __init__(self):
        self.got = []

    async def deliver(self, alert):
        self.got.append(alert)

    async def received(self):
        return self.got


class Case(AgentContext):
    to: str = ""
    event: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)
    taken: list[str] = Field(default_factory=list)


def keep(context, event):
    context.to, context.event, context.payload = (event.payload[each] for each in ("to", "event", "payload"))


def send(context, event, turn):
    context.taken.append("sent")
    turn.send(context.to, context.event, context.payload)


def hand_on(context, event, turn):
    turn.handoff(**event.payload)


def note(context, event):
    context.taken.append(event.name)


case = StateTransitionGraph(
    "case",
    context=Case,
    states=["OPEN", "GIVEN", State("CLOSED", final=True)],
    transitions=[
        Transition("OPEN", "SEND", actions=[keep, send]),
        Transition("OPEN", "HAND_ON", "GIVEN", actions=hand_on),
        Transition("OPEN", "CLOSE", "CLOSED"),
        Transition("GIVEN", "handoff.accepted", "CLOSED"),
        Transition("GIVEN", "handoff.rejected", "OPEN", actions=note),
        Transition("OPEN", "alarm.disk", actions=note),
    ],
    entry_points=[EntryPoint("OPEN", opens_on=["CALLED"])],
)

greedy = StateTransitionGraph(
    "greedy",
    context=Case,
    profile=Profile(domains=("cases",)),
    transitions=[Transition("OPEN", "*", actions=note)],
    entry_points=["OPEN"],
)


async def furnished(runtime):
    """Give the home an agent of each kind of the framework's, and one of an application."""
    own = own_agents_of(runtime)
    await runtime.start(case, at="OPEN", agent_id="case-1")
    await runtime.schedule("nightly", case, at="OPEN", every="1d")
    await runtime.register_entry("anna", case, at="OPEN")
    await runtime.alarm("disk", alarm_id="a1", to=["case-1"])
    await own.start("gatechart.lessons", at="LEARNING", agent_id="lessons:case")
    await own.start("gatechart.watchdog", at="WATCHING", agent_id="watchdog")
    await until(lambda: heard(runtime, "case-1"))
    await until(lambda: is_there(runtime, "alerts:ops"))  # on an engine it starts once the service is known there


async def heard(runtime, agent_id):
    return (await runtime.read(agent_id)).context["taken"]


async def until(holds):
    """Return what an async function returns, as soon as that is true."""
    async with asyncio.timeout(30):
        while True:
            if found := await holds():
                return found
            await asyncio.sleep(0.01)


async def is_there(runtime, agent_id):
    try:
        await runtime.read(agent_id)
    except EventError:
        return False
    return True


async def everything(runtime):
    """What the home keeps of the agents that no refused call may change."""
    snapshots = [await runtime.read(each) for each in (*IDS, "case-1")]
    there = [each for each in UNUSED if await is_there(runtime, each)]
    mail = [(each.recipient, each.event) for to in (*IDS, *UNUSED) for each in await runtime.mail(to)]
    return [(each.agent_id, each.version, each.status, each.context) for each in snapshots], there, mail


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[case], alerts=Alerts({"ops": Sink()})) as runtime:
        await furnished(runtime)
        yield runtime


# What a caller can say to each verb that writes: with an id, a graph or a key of the framework, it must be refused.
ASKED: dict[str, dict[str, Any]] = {
    "start": {"graph": GRAPH, "at": "OPEN", "payload": None, "agent_id": AGENT, "idempotency_key": KEY},
    "start_on": {"trigger": "CALLED", "payload": None, "agent_id": AGENT, "idempotency_key": KEY},
    "stop": {"agent_id": AGENT},
    "erase": {"agent_id": AGENT},
    "rollback": {"agent_id": AGENT, "version": 1, "reason": "again", "idempotency_key": "k"},
    "fork": {"agent_id": AGENT, "version": 1, "new_id": AGENT, "idempotency_key": KEY},
    "end_invoke": {
        "agent_id": AGENT,
        "invoke": "deliver",
        "result": {},
        "error": None,
        "reason": "again",
        "idempotency_key": "k",
    },
    "send": {"to": AGENT, "event": "MARK", "payload": {"mark": "closed"}, "event_id": "k"},
    "post": {"to": AGENT, "event": "MARK", "payload": {"mark": "closed"}, "event_id": "k", "due": None},
    "handoff": {
        "agent_id": AGENT,
        "to": GRAPH,
        "at": "OPEN",
        "best": None,
        "packet": None,
        "reason": None,
        "agent": AGENT,
        "mode": "transfer",
        "deadline": None,
        "fallbacks": None,
        "transcript": None,
        "idempotency_key": "k",
    },
    "cut": {"agent_id": AGENT, "journal": "conversation", "turns": 1, "reason": "again", "idempotency_key": "k"},
    "schedule": {
        "name": "weekly",
        "graph": GRAPH,
        "at": "OPEN",
        "payload": None,
        "every": "7d",
        "cron": "",
        "zone": "UTC",
        "missed": "one",
        "overlap": "skip",
        "most_running": 100,
    },
    "register_entry": {
        "id": "bert",
        "graph": GRAPH,
        "at": "OPEN",
        "agent": AGENT,
        "profile": {},
        "text": "",
        "capacity": None,
        "is_person": False,
        "lasts": None,
        "registrant": "",
    },
    "alarm": {
        "name": "fire",
        "alarm_id": "a2",
        "payload": {},
        "to": [AGENT],
        "graph": GRAPH,
        "where": None,
        "most": 10,
    },
    "fire_timer": {"number": "the number of a timer", "reason": "again", "to": AGENT},
    # They name no agent and no graph of the framework's.
    "cancel_handoff": {"handoff_id": "h", "reason": "again", "idempotency_key": "k"},
    "pause_schedule": {"name": "nightly"},
    "resume_schedule": {"name": "nightly"},
    "run_schedule": {"name": "nightly", "idempotency_key": "k"},
    "delete_schedule": {"name": "nightly"},
    "isolate_breaker": {"name": "pay", "reason": "again"},
    "close_breaker": {"name": "pay"},
    "deregister_entry": {"id": "anna", "registrant": None},
    "mark_entry": {"id": "anna", "mark": "closed", "reason": ""},
    "forget_user": {"user": "ada"},
    "rate_handoff": {"handoff_id": "h", "needed": True, "in_time": None, "quality": None},
    "forget_lessons": {"graph": "case"},
    # They deliver or delete mail, and what is delivered again is decided by the gate of its turn.
    "retry": {"number": 1, "to": "alerts:ops"},
    "discard": {"number": 1, "to": "alerts:ops"},
}
WRITING = {each.model_fields["verb"].default: each for each in KINDS if each.writes}
PLACEHOLDERS = (AGENT, GRAPH, KEY)


def asked_of(kind: type[Command], field: str, name: str) -> dict[str, Any]:
    """Return the fields of a command: a name of the framework in one of them, an application's in the others."""
    usual = {AGENT: "case-1", GRAPH: "case", KEY: None}
    verb = kind.model_fields["verb"].default
    given: dict[str, Any] = {}
    for each, content in ASKED[verb].items():
        of = content[0] if isinstance(content, list) else content
        is_new = of == AGENT and (verb, each) in (("start", "agent_id"), ("start_on", "agent_id"), ("fork", "new_id"))
        other = None if is_new else usual.get(of, of) if isinstance(of, str) else of
        chosen = name if each == field else other
        given[each] = [chosen] if isinstance(content, list) and chosen is not None else chosen
    if verb == "alarm":
        given |= {"to": []} if field == "graph" else {"graph": None}
    if verb == "handoff" and field != "agent":
        given["agent"] = None
    if verb == "register_entry" and field == "graph":
        given["agent"] = ""
    return {each: content for each, content in given.items() if content is not None}


def closed_calls():
    """Yield each verb with each of its fields that can name an agent or a graph, and each name of the framework."""
    for verb, fields in ASKED.items():
        for field, content in fields.items():
            of = content[0] if isinstance(content, list) else content
            if verb == "fire_timer" or of not in PLACEHOLDERS:
                continue
            names = sorted(OWN_GRAPHS) if of == GRAPH else (*IDS, *UNUSED)
            yield from ((verb, field, name) for name in names)


def test_the_verbs_that_are_tried_are_all_that_write_with_all_their_fields():
    assert {verb: set(kind.model_fields) - {"verb"} for verb, kind in WRITING.items()} == {
        verb: set(fields) for verb, fields in ASKED.items()
    }
    assert {kind for each in IDS for kind in OWN_KINDS if kind.has(each)} == set(OWN_KINDS)


async def test_no_verb_of_a_caller_reaches_an_agent_an_id_or_a_graph_of_the_framework(runtime):
    before = await everything(runtime)
    reached = []
    for verb, field, name in closed_calls():
        command = WRITING[verb](**asked_of(WRITING[verb], field, name))
        command = COMMANDS.validate_json(command.model_dump_json())
        expected = EventError if name in UNUSED else FrameworkAgentError  # some look for the agent first
        try:
            await runtime.execute(command)
            reached.append((verb, field, name, "done"))
        except expected:
            pass
        except EventError as error:
            reached.append((verb, field, name, error))
    assert reached == []
    assert await everything(runtime) == before


async def test_a_handle_of_an_agent_of_the_framework_only_reads(runtime):
    before = await everything(runtime)
    for each in IDS:
        agent = await runtime.resume(each)
        with pytest.raises(FrameworkAgentError):
            await agent.send("MARK", {"mark": "closed"})
        with pytest.raises(FrameworkAgentError):
            await agent.rollback(1, reason="again")
        assert await agent.accepts() == ()
        assert not await agent.can("MARK", {"mark": "closed"})
        assert [turn.version for turn in await runtime.history(each)][:1] in ([1], [])  # on an engine it lags
    assert await everything(runtime) == before


@pytest.mark.needs("lists_all_mail")
async def test_a_timer_of_a_schedule_is_not_fired_by_a_caller(runtime):
    [timer] = await runtime.mail("schedule:nightly")
    with pytest.raises(FrameworkAgentError, match=r"run_schedule\(\)"):
        await runtime.fire_timer(timer.number, reason="now")
    assert await runtime.mail("schedule:nightly") == [timer]


@pytest.mark.parametrize("event", ["ALERT", "OUTCOME", "MARK", "ANYTHING"])
async def test_a_turn_that_sends_to_an_agent_of_the_framework_is_undone(runtime, event):
    before = await everything(runtime)
    for each in (*IDS, *UNUSED):
        asked = {"to": each, "event": event, "payload": alert_payload(ALERT_1)}
        with pytest.raises(ActionFailedError, match="FrameworkAgentError"):
            await runtime.send("case-1", "SEND", asked)
    assert await everything(runtime) == before


@pytest.mark.parametrize("name", [ALERT, OUTCOME, LEARN, CHOSEN, "gatechart.mark", "gatechart.anything"])
async def test_nobody_else_sends_the_events_of_the_framework_to_anybody(runtime, name):
    with pytest.raises(ReservedEventError, match="for internal agents"):
        await runtime.send("case-1", name)
    with pytest.raises(ReservedEventError):
        await runtime.post("case-1", name)
    with pytest.raises(ActionFailedError, match="ReservedEventError"):
        await runtime.send("case-1", "SEND", {"to": "case-1", "event": name, "payload": {}})


@pytest.mark.parametrize(
    "asked",
    [
        {"to": "gatechart.alarm", "at": "RAISED"},
        {"to": "gatechart.new", "at": "RAISED"},
        {"to": "case", "at": "OPEN", "agent": "alerts:ops"},
    ],
)
async def test_a_turn_that_hands_on_to_the_framework_is_undone(runtime, asked):
    before = await everything(runtime)
    with pytest.raises(ActionFailedError, match="FrameworkAgentError"):
        await runtime.send("case-1", "HAND_ON", asked)
    assert await everything(runtime) == before


@pytest.mark.parametrize(
    "target", [OtherGraph("gatechart.alarm", at="RAISED"), Human("case", at="OPEN", agent="watchdog")]
)
async def test_no_fallback_of_a_handoff_leads_to_the_framework(runtime, target):
    with pytest.raises(FrameworkAgentError):
        await runtime.handoff("case-1", Handoff("case", at="OPEN", fallbacks=Fallbacks(target)))
    assert (await runtime.read("case-1")).handoffs == ()


def named(**definition):
    return {"name": "mine", "states": ["A", "B"], "entry_points": ["A"], **definition}


@pytest.mark.parametrize(
    "definition",
    [
        named(name="gatechart.schedule"),
        named(name="gatechart.mine"),
        named(states=[State("A", invoke=Invoke(agent="gatechart.alarm", at="RAISED"))]),
        named(transitions=[Transition("A", "GO", "B", actions=Handoff("gatechart.alarm", at="RAISED"))]),
        named(
            transitions=[
                Transition(
                    "A", "GO", "B", actions=Handoff("x", at="A", fallbacks=Fallbacks(OtherGraph("gatechart.y", at="A")))
                )
            ]
        ),
    ],
)
def test_no_graph_of_an_application_has_or_names_a_graph_of_the_framework(definition):
    with pytest.raises(InvalidGraphError, match=r"does not begin with 'gatechart\.'"):
        StateTransitionGraph(definition.pop("name"), **definition)


def test_a_chart_that_waits_for_an_event_of_the_framework_is_told_that_none_comes():
    graph = StateTransitionGraph("mine", transitions=[Transition("A", ALERT, "B")], entry_points=["A"])
    assert "GC204" in {each.code for each in check(graph)}


async def test_a_payload_that_does_not_fit_is_refused_by_the_framework_s_agents_too(runtime):
    own, before = own_agents_of(runtime), await everything(runtime)
    for to, event in (
        ("directory:anna", OUTCOME),
        ("directory:anna", "gatechart.mark"),
        ("directory:anna", CHOSEN),
        ("directory:anna", "gatechart.forget"),
        ("lessons:case", LEARN),
        ("alerts:ops", ALERT),
        ("schedule:nightly", "gatechart.change"),
        ("schedule:nightly", "gatechart.run"),
        ("watchdog", "gatechart.looked"),
        ("watchdog", "gatechart.acted"),
    ):
        with pytest.raises(PayloadError):
            await own.send(to, event, {"garbage": 1})
    assert await everything(runtime) == before


async def is_done(runtime, agent_id):
    return all(each.due is not None for each in await runtime.mail(agent_id, status="waiting"))


STORED = [  # what an earlier release may have stored: who sent it, to whom, which event, under which id; is it applied
    ("case-1", "alerts:ops", "ALERT", alert_payload(ALERT_1), "a-1", True),
    ("case-1", "alerts:ops", "ALERT", alert_payload(ALERT_1), "another", False),
    (None, "alerts:ops", "ALERT", alert_payload(ALERT_1), "a-1", False),
    ("case-1", "alerts:ops", "ALERT", {"id": "a-2", "title": "garbage"}, "a-2", False),
    (None, "alerts:ops", "RETRY", {}, None, False),
    ("case-1", "directory:anna", "OUTCOME", {"handoff": "h", "ended": "completed"}, "completed:h", True),
    ("case-1", "directory:anna", "OUTCOME", {"garbage": 1}, None, False),
    (None, "directory:anna", "OUTCOME", {"handoff": "h", "ended": "completed"}, "completed:h", False),
    ("case-1", "directory:anna", "MARK", {"mark": "closed"}, None, False),
    (None, "directory:anna", "MARK", {"mark": "closed"}, None, False),
    (None, "directory:anna", "FORGET", {"digest": "0" * 64}, None, True),
    (None, "directory:anna", "FORGET", {"digest": "ada"}, None, False),
    ("case-1", "directory:anna", "END", {}, None, False),
    ("case-1", "lessons:case", "LEARN", {"tools": {"pay": [1, 0]}}, f"tried:3:{'a' * 24}", True),
    ("case-1", "lessons:case", "LEARN", {"tools": {"pay": [1, 0]}}, None, False),
    ("case-1", "schedule:nightly", "DUE", {"due": NOON.isoformat()}, None, False),
    (None, "schedule:nightly", "PAUSE", {}, None, False),
    ("case-1", "watchdog", "LOOKED", {"found": []}, None, False),
]


@pytest.mark.parametrize("url", ["memory:", "sqlite"])
@pytest.mark.parametrize("stored", STORED, ids=lambda each: f"{each[2]} by {each[0]} as {each[4]}: {each[5]}")
async def test_stored_mail_is_applied_only_where_the_framework_sent_it(request, url, stored):
    sender, to, event, payload, mail_id, is_applied = stored
    place = MemoryStore() if url == "memory:" else request.getfixturevalue("sqlite_url")
    async with Runtime.open(place, graphs=[case], alerts=Alerts({"ops": Sink()})) as runtime:
        await furnished(runtime)
        version = (await runtime.read(to)).version
    async with open_store(place) as store:
        await store.commit([Posting(Mail(store.numbers(1), to, event, payload, NOON, mail_id, sender))])
    async with Runtime.open(place, graphs=[case], alerts=Alerts({"ops": Sink()})) as runtime:
        await until(lambda: is_done(runtime, to))
        refused = await runtime.mail(to, status="refused")
        assert (bool(refused), (await runtime.read(to)).version > version) == (not is_applied, is_applied)


async def past_the_gate(runtime, mail):
    """Accept mail as if an earlier release had, which did not check its recipient."""
    if runtime.capabilities.home == "Restate":
        await calls_of(runtime).deliver("post", mail)
    else:
        await effects_of(runtime).posted.post(mail)


async def test_mail_that_got_past_the_gate_is_refused_in_its_turn_on_every_home(runtime):
    before, _, _ = await everything(runtime)
    sent = [each for each in STORED if not each[-1]]
    for sender, to, event, payload, mail_id, _ in sent:
        await past_the_gate(runtime, Mail(0, to, event, payload, NOON, mail_id, sender))
    for to in {each[1] for each in sent}:
        await until(lambda to=to: is_done(runtime, to))
        refused = [each.event for each in await runtime.mail(to, status="refused")]
        assert sorted(refused) == sorted(each[2] for each in sent if each[1] == to)
    after, _, _ = await everything(runtime)
    assert after == before


async def test_an_offer_that_an_earlier_release_stored_begins_no_agent_of_the_framework(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[case]) as runtime:
        await runtime.start(case, at="OPEN", agent_id="case-1")
        handoff = await runtime.handoff("case-1", Handoff("case", at="OPEN"))
        [offered] = await runtime.handoffs(handoff_id=handoff)
    packet = {**offered.packet, "handoff_id": "h2", "target_agent": "alerts:new"}
    for number, graph in enumerate(("case", "gatechart.alerts")):
        told = {**packet, "target_graph": graph, "handoff_id": f"h{number}"}
        async with open_store(sqlite_url) as store:
            mail = Mail(store.numbers(1), "alerts:new", "handoff.offered.OPEN", told, NOON, f"h{number}", "case-1")
            await store.commit([Posting(mail)])
    async with Runtime.open(sqlite_url, graphs=[case]) as runtime:
        await until(lambda: is_done(runtime, "alerts:new"))
        assert not await is_there(runtime, "alerts:new")


SQUATTERS = ("alerts:ops", "directory:greedy.OPEN", "lessons:case", "schedule:nightly", "alarm:a1", "watchdog")


async def squatted(place):
    """Open a home on a place where an earlier release gave the ids of the framework to agents of an application."""
    async with Runtime.open(place, graphs=[case, greedy]) as runtime:
        for each in SQUATTERS:
            await own_agents_of(runtime).start("greedy", at="OPEN", agent_id=each)


@pytest.fixture
async def squatted_place(request, sqlite_url):
    await squatted(sqlite_url)
    return sqlite_url


async def test_agents_of_an_application_with_ids_of_the_framework_are_reported_when_the_home_opens(
    squatted_place, caplog
):
    with caplog.at_level(logging.WARNING):
        async with Runtime.open(squatted_place, graphs=[case, greedy], alerts=Alerts({"ops": Sink()})) as runtime:
            found = await runtime.findings(about="misplaced")
            assert [each.agent_id for each in (await runtime.find()).agents] == list(SQUATTERS)
    reported = [each.agent_id for each in caplog.records if hasattr(each, "loss")]
    assert reported == list(SQUATTERS)
    assert {each.subject for each in found} == set(SQUATTERS)
    assert all(loss_from(each.subject) in each.text for each in found)
    assert all("gatechart fork" in each.remedy for each in found)


async def test_alerts_to_a_sink_whose_id_another_agent_has_are_found_and_come_once_it_is_gone(squatted_place):
    sink = Sink()
    async with Runtime.open(squatted_place, graphs=[case, greedy], alerts=Alerts({"ops": sink})) as runtime:
        await own_agents_of(runtime).post("alerts:ops", ALERT, alert_payload(ALERT_1), event_id="a-1")
        await until(lambda: runtime.mail("alerts:ops", status=MailStatus.REFUSED))
        found = {each.key for each in await runtime.findings()}
        assert {"refused:alerts:ops", "misplaced:alerts:ops"} <= found
        assert (await runtime.read("alerts:ops")).context["taken"] == []  # though it waits for every event
        await runtime.send("alerts:ops", "NEWS")
        newest = await runtime.read("alerts:ops")
        again = await runtime.fork("alerts:ops", newest.version, new_id="ops-case")
        assert again.context.taken == ["NEWS"]
        await runtime.erase("alerts:ops")
    async with Runtime.open(squatted_place, graphs=[case, greedy], alerts=Alerts({"ops": sink})) as runtime:
        await own_agents_of(runtime).post("alerts:ops", ALERT, alert_payload(ALERT_1), event_id="a-1")
        await until(sink.received)
        assert "misplaced:alerts:ops" not in {each.key for each in await runtime.findings()}


async def test_a_choice_is_made_though_an_agent_has_the_id_of_the_entry_s_keeper(squatted_place):
    async with Runtime.open(squatted_place, graphs=[case, greedy]) as runtime:
        await runtime.start(case, at="OPEN", agent_id="case-1")
        handoff = await runtime.handoff("case-1", Handoff(Best(Needs(domains=("cases",)))))
        assert await until(lambda: runtime.handoffs(handoff_id=handoff, status="accepted"))


@pytest.mark.needs("finds_at_once")
async def test_the_framework_s_agents_are_listed_and_counted_only_on_request(runtime):
    for number in range(3):
        await runtime.start(case, at="OPEN", agent_id=f"case-{number + 2}")
    cases = [f"case-{number}" for number in (1, 2, 3, 4)]
    assert [each.agent_id for each in (await runtime.find()).agents] == cases
    first = await runtime.find(limit=2)
    second = await runtime.find(limit=2, after=first.next)
    assert [each.agent_id for page in (first, second) for each in page.agents] == cases
    assert second.next is None
    assert {each.agent_id async for each in runtime.agents(order="-changed", status="active")} == set(cases)
    everybody = [each.agent_id async for each in runtime.agents(framework=True)]
    assert set(everybody) == {*cases, *IDS}
    assert [each.agent_id for each in (await runtime.find(graph="gatechart.schedule")).agents] == ["schedule:nightly"]
    assert [each.agent_id for each in (await runtime.find(state="WATCHING", framework=True)).agents] == ["watchdog"]
    assert [each.graph for each in await runtime.counts()] == ["case"]
    assert {each.graph for each in await runtime.counts(framework=True)} == {"case", *OWN_GRAPHS}
    assert [each.agents for each in await runtime.counts(graph="gatechart.watchdog")] == [1]


def test_ids_and_graphs_of_the_framework_are_told_from_others():
    assert all(is_framework_id(each) for each in (*IDS, *UNUSED))
    assert all(is_framework_graph(each) for each in (*OWN_GRAPHS, "gatechart.later"))
    assert not any(map(is_framework_id, ("", "alerts", "watchdog:1", "my-alerts:ops", "Alerts:ops")))
    assert not any(map(is_framework_graph, ("gatechart", "gatecharts.x", "Gatechart.alarm")))


async def troubled(runtime):
    return next((each for each in await runtime.schedules() if each.problem), None)


async def test_a_schedule_that_an_earlier_release_made_of_the_framework_s_graph_starts_nothing(sqlite_url):
    clock = VirtualClock(NOON)
    terms = Terms(
        name="evil", graph="gatechart.alarm", at="RAISED", payload={"name": "watchdog.stuck"}, period=Every("1d").period
    )
    async with Runtime.open(sqlite_url, graphs=[case, greedy], clock=clock) as runtime:
        await own_agents_of(runtime).start("gatechart.schedule", at="MADE", agent_id="schedule:evil", payload=terms)
        clock.at = NOON + timedelta(days=1)
        found = await until(lambda: troubled(runtime))
        assert "only gatechart itself uses the graph 'gatechart.alarm'" in found.problem
        assert found.started == ()
