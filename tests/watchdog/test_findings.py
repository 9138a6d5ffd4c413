"""What is found to be wrong, on every home, and what is not: agents that merely wait."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from gatechart import (
    EntryPoint,
    EscapePlan,
    Handoff,
    HandoffPacket,
    Limits,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.alerts import Alerts
from gatechart.errors import ActionFailedError
from gatechart.hosting.own_agents import own_agents_of
from gatechart.stores import MemoryStore
from gatechart.values.alerts import ALERT
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import BreakerChange
from gatechart.values.delays import Retry
from gatechart.values.findings import FindingKind
from gatechart.values.homes import Role
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail
from gatechart.watchdog import Act, Watchdog, WatchdogTerms
from gatechart.watchdog.rules import found_hosts, found_refused
from gatechart.watchdog.troubles import MOST_AGENTS, MOST_COUNTED, MOST_TOLD, Troubles
from tests.insides import core_of, store_of
from tests.runtime.spoiling import by_hand
from tests.watchdog.cases import NOON, UNLEARNED, Case, Sink, kept, until


def note(context, event):
    context.heard.append(event.name)


def burst(context, event):
    raise RuntimeError("the press is broken")


case = StateTransitionGraph(
    "case",
    context=Case,
    states=[
        State("WORKING", states=["READING", State("WRITING", expects="1h")], expects="10m"),
        State("WAITING", defer=["LATER"]),
        State("BROKEN"),
        State("DONE", final=True),
    ],
    transitions=[
        Transition("WORKING", "GO", "DONE"),
        Transition("READING", "WRITE", "WRITING"),
        Transition("READING", "alarm.watchdog.stuck", actions=note),
        Transition("BROKEN", "BURST", actions=burst),
        Transition("WAITING", "GO", "DONE"),
        Transition("BROKEN", "GO", "WAITING"),
    ],
    entry_points=["WORKING", "WRITING", "WAITING", "BROKEN"],
)


def keys(found):
    return [each.key for each in found]


async def looked(runtime, holds):
    """What is found, as soon as this holds of it."""
    async with asyncio.timeout(30):
        while True:
            found = await runtime.findings()
            if holds(found):
                return found
            await asyncio.sleep(0.02)


async def test_an_agent_that_had_no_turn_for_longer_than_its_state_expects_is_stuck(clock):
    async with Runtime.open(
        MemoryStore(), graphs=[case], clock=clock, watchdog=Watchdog(terms=UNLEARNED, every="1d")
    ) as runtime:
        await runtime.start("case", at="WORKING", agent_id="reads")
        await runtime.start("case", at="WRITING", agent_id="writes")
        await runtime.start("case", at="WAITING", agent_id="waits")
        clock.advance("10m")
        assert await runtime.findings() == []
        clock.advance("1s")
        [found] = await runtime.findings()
        assert (found.kind, found.subject, found.since, found.graph) == (FindingKind.STUCK, "reads", NOON, "case")
        assert found.evidence["normal_s"] == 600
        assert "gatechart show reads" in found.remedy
        clock.advance("1h")
        assert keys(await runtime.findings()) == ["stuck:reads", "stuck:writes"]
        await runtime.send("reads", "GO")
        assert keys(await runtime.findings()) == ["stuck:writes"]


async def test_an_agent_that_waits_for_a_timer_beyond_what_its_state_expects_is_found_with_what_it_waits_for(place):
    soon = StateTransitionGraph(
        "soon", states=[State("HERE", expects="20ms", after={"1h": "HERE"})], entry_points=["HERE"]
    )
    async with Runtime.open(place, graphs=[soon]) as runtime:
        await runtime.start("soon", at="HERE", agent_id="s-1")
        found = await looked(runtime, bool)
        assert keys(found) == ["stuck:s-1"]


@pytest.mark.parametrize("quiet", [True, False])
async def test_how_long_is_normal_is_learned_from_enough_silences_alone(clock, quiet):
    """An agent that waits for a timer is not stuck by what was learned."""
    graph = StateTransitionGraph(
        "talk",
        states=[State("ASKING", after={} if quiet else {"10d": "ASKING"}), State("TOLD")],
        transitions=[Transition("ASKING", "SAID", "TOLD"), Transition("TOLD", "ASKED", "ASKING")],
        entry_points=["ASKING"],
    )
    terms = WatchdogTerms(least=20)
    watchdog = Watchdog(terms=terms, every="100d")
    async with Runtime.open(MemoryStore(), graphs=[graph], clock=clock, watchdog=watchdog) as runtime:
        await runtime.start("talk", at="ASKING", agent_id="t-1")
        for _ in range(20):
            assert await runtime.findings() == []
            clock.advance("30s")
            await runtime.send("t-1", "SAID")
            clock.advance("2h")
            await runtime.send("t-1", "ASKED")
        clock.advance("1h")
        found = await runtime.findings()
        if not quiet:
            assert found == []
            return
        [found] = found
        assert (found.evidence["normal_s"], found.evidence["learned_from"]) == (90, 20)


async def test_mail_that_could_be_applied_and_waits_is_found_but_not_what_is_deferred_or_early(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock) as runtime:
        await runtime.start("case", at="WAITING", agent_id="waits")
        await runtime.post("waits", "LATER")
        await runtime.post("waits", "GO", due=NOON + timedelta(days=9))
        await runtime.post("nobody", "GO")
    other = StateTransitionGraph("other", states=["HERE"], entry_points=["HERE"])
    async with Runtime.open(sqlite_url, graphs=[case, other], clock=clock, role="visitor") as runtime:
        await runtime.start("other", at="HERE", agent_id="o-1")
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock, role="visitor") as runtime:
        await runtime.post("o-1", "GO")
        clock.advance("4m")
        assert await runtime.findings() == []
        clock.advance("2m")
        assert keys(await runtime.findings()) == ["waiting:o-1"]
        clock.advance("1h")
        assert keys(await runtime.findings()) == ["waiting:o-1", "unclaimed:nobody"]


async def test_alerts_for_a_sink_that_no_host_has_tell_how_to_give_it_one(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock) as runtime:
        await own_agents_of(runtime).post("alerts:ops", ALERT, {})
        clock.advance("2h")
        [found] = await runtime.findings()
        assert (found.kind, found.subject) == ("unclaimed", "alerts:ops")
        assert "[sinks.ops] to the file of `gatechart run --alerts-file FILE`" in found.remedy


async def test_failing_and_dead_and_refused_mail_is_found(sqlite_url):
    limits = Limits(mail_retry=Retry(attempts=2, first_s=0.01))
    async with Runtime.open(sqlite_url, graphs=[case], limits=limits) as runtime:
        await runtime.start("case", at="BROKEN", agent_id="b-1")
        await runtime.post("b-1", "BURST")
        for number in range(10):
            await runtime.post("b-1", f"UNKNOWN_{number}")
        found = await looked(runtime, lambda found: keys(found) == ["dead:b-1", "refused:b-1"])
    assert "the press is broken" in found[0].text
    assert (found[1].evidence["mail_count"], found[1].evidence["sent_count"]) == (10, 0)


async def test_events_that_were_sent_and_refused_or_undone_are_found_for_each_agent_also_from_elsewhere(sqlite_url):
    limits = Limits(beat_s=0.01)
    async with Runtime.open(sqlite_url, graphs=[case], limits=limits) as runtime:
        agents = [await runtime.start("case", at="BROKEN", agent_id=each) for each in ("b-1", "b-2")]
        for agent in agents:
            for _ in range(3 if agent.id == "b-1" else 2):
                with pytest.raises(ActionFailedError):
                    await agent.send("BURST")
        for number in range(10):
            await agents[1].send(f"UNKNOWN_{number}")
        async with Runtime.open(sqlite_url, graphs=[case], role="reader") as reader:
            undone, refused = await looked(reader, lambda found: len(found) == 2)
    assert (undone.key, undone.evidence["count"], refused.key) == ("undone:b-1", 3, "refused:b-2")
    assert "the press is broken" in undone.text
    assert (refused.evidence["mail_count"], refused.evidence["sent_count"], refused.evidence["events"]) == (0, 10, [])


def test_refused_mail_and_refused_events_that_were_sent_are_told_each_with_its_window():
    mail = [Mail(each, "a-1", "ASKED", {}, NOON, reason="no transition") for each in (1, 2)]
    sent = {"a-1": {"count": 8, "since": (NOON - timedelta(minutes=50)).isoformat(), "reason": "no guard"}}
    (found,) = found_refused(mail, WatchdogTerms(window_s=60), sent)
    assert found.text == "2 mail within 1 min and 8 sent events within 1 h were refused: no transition"
    assert found.since == NOON - timedelta(minutes=50)
    counts = {"mail_count": 2, "mail_window_s": 60, "sent_count": 8, "sent_window_s": 3600}
    assert found.evidence == {**counts, "events": ["ASKED"], "reason": "no transition"}
    (found,) = found_refused([], WatchdogTerms(window_s=60, refusals=8), sent)
    assert found.text == "8 sent events within 1 h were refused: no guard"
    assert [*found_refused(mail, WatchdogTerms(refusals=11), sent)] == []


def test_troubles_are_counted_within_an_hour_and_bounds():
    troubles = Troubles()
    assert troubles.facts(NOON) == {}
    for number in range(MOST_AGENTS + 1):
        troubles.note("refused", f"a-{number}", "no", NOON + timedelta(seconds=number))
    for _ in range(MOST_COUNTED + 1):
        troubles.note("refused", "a-7", "x" * 1000, NOON + timedelta(minutes=50))
    told = troubles.facts(NOON + timedelta(minutes=55))["troubles"]["refused"]
    assert len(told) == MOST_TOLD
    assert "a-0" not in told
    first = next(iter(told.items()))
    assert (first[0], first[1]["count"], len(first[1]["reason"])) == ("a-7", MOST_COUNTED, 300)
    later = troubles.facts(NOON + timedelta(minutes=80))["troubles"]["refused"]
    assert [*later] == ["a-7"]
    assert troubles.facts(NOON + timedelta(hours=2)) == {}


async def told_by_hosts(store):
    return [each.facts.get("troubles", {}) for each in await store.hosts()]


async def test_nothing_is_told_of_an_agent_that_was_erased(clock):
    store = MemoryStore()
    async with Runtime.open(store, graphs=[case], clock=clock, limits=Limits(beat_s=0.5)) as runtime:
        agents = [await runtime.start("case", at="BROKEN", agent_id=each) for each in ("b-1", "b-2")]
        for agent in agents:
            await asyncio.gather(*(agent.send(each) for each in ("BURST", "UNKNOWN")), return_exceptions=True)
        async with asyncio.timeout(30):
            while "b-1" not in str(await told_by_hosts(store)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await runtime.erase("b-1")
        told = core_of(runtime).troubles.facts(NOON)["troubles"]
        [row] = await told_by_hosts(store)
        assert "b-1" not in str(row)
        assert "b-2" in str(row)
    assert {kind: [*agents] for kind, agents in told.items()} == {"refused": ["b-2"], "undone": ["b-2"]}


async def test_nothing_is_told_of_an_agent_that_was_erased_while_the_sender_of_an_event_waited(clock):
    async def burst_later(context, event):
        await asyncio.sleep(0)
        raise RuntimeError("the press is broken")

    press = StateTransitionGraph(
        "press",
        states=[State("BROKEN"), State("DONE", final=True)],
        transitions=[Transition("BROKEN", "BURST", actions=burst_later), Transition("BROKEN", "GO", "DONE")],
        entry_points=["BROKEN"],
    )
    async with Runtime.open(MemoryStore(), graphs=[press], clock=clock) as runtime:
        agent = await runtime.start("press", at="BROKEN", agent_id="b-1")
        raised, _ = await asyncio.gather(agent.send("BURST"), runtime.erase("b-1"), return_exceptions=True)
        assert isinstance(raised, ActionFailedError)
        assert core_of(runtime).troubles.facts(NOON) == {}


async def test_nothing_is_told_of_an_agent_that_was_pruned(clock):
    async with Runtime.open(MemoryStore(), graphs=[case], clock=clock) as runtime:
        agent = await runtime.start("case", at="WAITING", agent_id="b-1")
        await agent.send("UNKNOWN")
        await agent.send("GO")
        assert "b-1" in core_of(runtime).troubles.facts(NOON)["troubles"]["refused"]
        clock.advance(1)
        await runtime.prune(ended_before=timedelta(), ids_for=timedelta())
        assert core_of(runtime).troubles.facts(NOON) == {}


def host(**changes):
    return replace(HostRecord("h-1", Role.OWNER, "one", 4711, NOON, NOON, {}), **changes)


async def test_a_host_without_a_sign_of_life_is_found_and_so_is_one_that_is_busy_for_nothing(clock):
    store = MemoryStore()
    async with Runtime.open(store, graphs=[case], clock=clock) as runtime:
        await store.beat(host(), forget_before=NOON)
        await store.beat(host(id="h-2", seen=NOON + timedelta(seconds=10), facts={"busy_s": 300.0}), forget_before=NOON)
        clock.advance(15)
        assert keys(await runtime.findings()) == ["busy:h-2"]
        clock.advance(1)
        silent, busy = await runtime.findings()
        assert (silent.key, silent.since, busy.key) == ("silent:h-1", NOON, "busy:h-2")
        assert silent.evidence["is_replaced"]
        clock.advance(60)
        assert [each.evidence["is_replaced"] for each in await runtime.findings()] == [False, False]
        assert [each.id for each in await runtime.hosts(limit=1)] == ["h-1"]
        assert [each.id for each in await runtime.hosts(after="h-1")] == ["h-2"]


def test_what_is_found_about_a_host_repeats_nothing_that_it_tells_of_agents():
    troubles = Troubles()
    troubles.note("undone", "a-1", "no account 4711", NOON)
    facts = {"busy_s": 300.0, "memory": 1, **troubles.facts(NOON)}
    hosts = [host(facts=facts), host(id="h-2", seen=NOON + timedelta(minutes=1), facts=facts)]
    silent, busy = found_hosts(hosts, UNLEARNED, NOON + timedelta(minutes=1))
    assert (silent.kind, busy.kind) == (FindingKind.SILENT, FindingKind.BUSY)
    assert [each.evidence["memory"] for each in (silent, busy)] == [1, 1]
    assert "no account" not in f"{silent.evidence} {busy.evidence}"


async def test_a_breaker_that_stays_open_is_found_and_one_that_an_operator_isolated_is_not(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock) as runtime:
        opened = BreakerRecord("crm", BreakerState.OPEN, NOON, NOON + timedelta(hours=1), 1, "no answer")
        await store_of(runtime).commit([BreakerChange(opened)])
        await runtime.isolate_breaker("erp", reason="it moves")
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock, role="reader") as runtime:
        assert await runtime.findings() == []
        clock.advance("61s")
        assert keys(await runtime.findings()) == ["breaker:crm"]
        assert await runtime.findings(about="stuck") == []


async def test_the_watchdog_tells_the_agent_and_the_sink_of_a_finding_once_until_it_ceases(sqlite_url, clock):
    """A restart does not tell of it again."""
    sink = Sink()
    given = {
        "graphs": [case],
        "clock": clock,
        "alerts": Alerts({"ops": sink}),
        "watchdog": Watchdog("1m", alerts="ops", terms=UNLEARNED),
    }
    async with Runtime.open(sqlite_url, **given) as runtime:
        agent = await runtime.start("case", at="WORKING", agent_id="reads")
        await kept(runtime, lambda _: True)
        await asyncio.sleep(0.1)
        clock.advance("11m")
        await until(lambda: sink.got and agent.context.heard == ["alarm.watchdog.stuck"])
        assert (sink.got[0].kind, sink.got[0].agent_id, sink.got[0].graph) == ("stuck", "reads", "case")
        await asyncio.sleep(0.1)
        clock.advance("1m")
        await kept(runtime, lambda context: not context.open)  # the event was a sign of life
        await asyncio.sleep(0.1)
        clock.advance("12m")
        await until(lambda: len(sink.got) == 2)
        await until(lambda: len(agent.context.heard) == 2)
    async with Runtime.open(sqlite_url, **given) as runtime:
        assert (await kept(runtime, lambda context: context.open)).total == 2
        clock.advance("2m")
        await asyncio.sleep(0.1)
        assert (await kept(runtime, lambda _: True)).total == len(sink.got) == 2


async def test_an_agent_whose_graph_does_not_handle_a_finding_hears_nothing_of_it(clock):
    async with Runtime.open(
        MemoryStore(), graphs=[case], clock=clock, watchdog=Watchdog("1m", terms=UNLEARNED)
    ) as runtime:
        await runtime.start("case", at="WRITING", agent_id="writes")
        clock.advance("2h")
        await kept(runtime, lambda context: context.open)
        assert len(await runtime.history("writes")) == 1
        assert await runtime.mail("writes") == []


def test_what_cannot_be_done_is_refused_when_the_watchdog_is_configured():
    with pytest.raises(ValueError, match="escalate_to"):
        Watchdog(acts={"stuck": Act.ESCALATE})
    with pytest.raises(ValueError, match="hungry"):
        Watchdog(acts={"hungry": Act.WAKE})
    with pytest.raises(ValueError, match="0 seconds"):
        Watchdog(every=0)


desk = StateTransitionGraph("desk", states=["LOOKING"], entry_points=[EntryPoint("LOOKING", takes=HandoffPacket)])


STATUS = "SELECT status FROM agents WHERE id = 'waits'"


async def test_mail_that_an_agent_could_not_be_read_for_is_delivered_if_the_watchdog_is_told_to(sqlite_url, clock):
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock) as runtime:
        await runtime.start("case", at="WAITING", agent_id="waits")
    await by_hand(sqlite_url, "UPDATE agents SET status = 'spoilt' WHERE id = 'waits'")
    watchdog = Watchdog("1m", acts={"waiting": Act.WAKE}, terms=UNLEARNED)
    async with Runtime.open(sqlite_url, graphs=[case], clock=clock, watchdog=watchdog) as runtime:
        await kept(runtime, lambda _: True)
        await runtime.post("waits", "GO")
        await asyncio.sleep(0.2)
        await by_hand(sqlite_url, "UPDATE agents SET status = 'active' WHERE id = 'waits'")
        assert await by_hand(sqlite_url, STATUS) == [("active",)]
        clock.advance("6m")
        async with asyncio.timeout(30):
            while await by_hand(sqlite_url, STATUS) != [("done",)]:  # noqa: ASYNC110  to ask the runtime would wake it
                await asyncio.sleep(0.01)


async def test_the_work_of_an_agent_that_is_stuck_is_handed_on_once_if_the_watchdog_is_told_to(clock):
    to_desk = Handoff("desk", at="LOOKING")
    watchdog = Watchdog("1m", acts={"stuck": Act.ESCALATE}, escalate_to=to_desk, terms=UNLEARNED)
    async with Runtime.open(MemoryStore(), graphs=[case, desk], clock=clock, watchdog=watchdog) as runtime:
        await runtime.start("case", at="WRITING", agent_id="writes")
        await kept(runtime, lambda _: True)
        await asyncio.sleep(0.1)
        for _ in range(3):
            clock.advance("2h")
            await asyncio.sleep(0.1)
        async with asyncio.timeout(30):
            while not (handed := await runtime.handoffs(source="writes")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert [each.target_graph for each in handed] == ["desk"]


async def test_an_agent_that_stands_still_begins_anew_if_the_watchdog_is_told_to_within_its_limits(place):
    """It does so by a way out that is in its history, checked and counted as those of its plan."""
    still = StateTransitionGraph(
        "still",
        context=Case,
        states=[State("HERE", expects="20ms"), State("THERE", expects="20ms")],
        transitions=[Transition("HERE", "GO", "THERE", actions=note)],
        entry_points=["HERE", EntryPoint("THERE", guard=lambda context, event: False)],
        escape=EscapePlan({}, cooldown=0, most_a_day=2),
    )
    told = Watchdog("50ms", acts={"stuck": Act.RESTART}, terms=UNLEARNED)
    async with Runtime.open(place, graphs=[still], watchdog=told) as runtime:
        agent = await runtime.start("still", at="HERE", agent_id="s-1")
        await agent.send("GO")
        async with asyncio.timeout(60):
            while not (vain := [e for e in await agent.history() if e.event.name == "escape.none"]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        ways = [each for each in await agent.history() if each.event.name == "escape.restart"]
        assert [each.target for each in ways] == [("HERE",), ("HERE",)]
        assert ways[0].event.payload["signal"] == "alarm.watchdog.stuck"
        assert ways[0].event.payload["evidence"][0]["normal_s"] == 0.02
        assert agent.context.heard == []
        assert vain[0].event.payload["passed"] == [{"strategy": "restart", "why": "2 attempts were made today"}]
        assert (agent.snapshot.trail.escapes.count, agent.snapshot.configuration) == (2, ("HERE",))
