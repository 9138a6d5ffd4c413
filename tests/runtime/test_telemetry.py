"""Handoffs as operators watch them: counted, traced from the offer to its answer, logged."""

import asyncio
import logging
import subprocess
import sys
from collections import Counter

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from gatechart import ConversationContext, Handoff, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreFailedError
from gatechart.escape import GiveUp, Nudge
from gatechart.graph.definition import EntryPoint
from gatechart.graph.handoff import Accepts, Fallbacks, Human, SameTarget
from gatechart.graph.selection import Best
from gatechart.handoff import PacketMigration
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.commits import MailEnd
from gatechart.values.homes import Role
from gatechart.values.profiles import Needs, Profile
from tests.insides import withhold_mail
from tests.runtime.rings import go_round, ring
from tests.runtime.support import WrappedStore, at_rest

PREFIX = "gatechart.handoff."
LOG = "gatechart.runtime.telemetry"


class Case(ConversationContext):
    answered: str = ""


def hand(to, at, **asked):
    def ask(context, event, turn):
        turn.handoff(to, at=at, packet=context.packet("out of scope"), **asked)

    return ask


def complete(context, event, turn):
    turn.complete(turn.handoffs[-1].id, {"paid": True})


async def pause(context, event, turn):
    await turn.services.wait()


ASKS = {
    "TRANSFER": hand("refunds", "REVIEWING"),
    "DELEGATE": hand("refunds", "REVIEWING", mode="delegate", deadline="60s"),
    "NOWHERE": hand("nowhere", "X"),
    "AGAIN": hand("busy", "WORKING", fallbacks=Fallbacks(SameTarget(first_s=10))),
    "BACK": hand("mirror", "LOOKING"),
    "PERSON": hand("polite", "LOOKING"),
    "AT_ONCE": hand("instant", "DONE"),
}

orders = StateTransitionGraph(
    "orders",
    context=Case,
    states=[State("GONE", final=True)],
    transitions=[
        *(Transition("TALKING", event, "WAITING", actions=ask) for event, ask in ASKS.items()),
        Transition("TALKING", "PAUSED", actions=pause),
        Transition("WAITING", "handoff.rejected", "TALKING"),
        Transition("WAITING", "handoff.completed", "TALKING"),
        Transition("WAITING", "LEFT", "TALKING"),
    ],
    entry_points=["TALKING"],
)
refunds = StateTransitionGraph(
    "refunds",
    context=Case,
    states=["REVIEWING", State("DONE", final=True), State("BROKEN", final=True, failed=True)],
    transitions=[Transition("REVIEWING", "PAID", "DONE"), Transition("REVIEWING", "BROKE", "BROKEN")],
    entry_points=["REVIEWING"],
)
busy = StateTransitionGraph(
    "busy",
    context=Case,
    states=["WORKING", State("DONE", final=True)],
    transitions=[Transition("WORKING", "DONE", "DONE")],
    entry_points=["WORKING"],
    accepts=Accepts(capacity=1),
)
mirror = StateTransitionGraph(
    "mirror",
    context=Case,
    states=[State("LOOKING", on_entry=hand("orders", "TALKING"))],
    transitions=[Transition("LOOKING", "handoff.rejected", "STUCK")],
    entry_points=["LOOKING"],
)
polite = StateTransitionGraph(
    "polite",
    context=Case,
    states=[State("LOOKING", on_entry=hand("orders", "TALKING", fallbacks=Fallbacks(Human("busy", at="WORKING"))))],
    transitions=[Transition("LOOKING", "LEFT", "AWAY")],
    entry_points=["LOOKING"],
)
instant = StateTransitionGraph(
    "instant", context=Case, states=[State("DONE", final=True)], transitions=[], entry_points=["DONE"]
)
GRAPHS = [orders, refunds, busy, mirror, polite, instant]


class Watch:
    """What an OpenTelemetry SDK was told."""

    def __init__(self, monkeypatch):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        meters = MeterProvider([self.reader])
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: self.tracers)
        monkeypatch.setattr(metrics, "get_meter_provider", lambda: meters)

    def points(self, name, prefix=PREFIX):
        """The points of a metric."""
        data = self.reader.get_metrics_data()
        found = [
            each
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == prefix + name
        ]
        return [point for each in found for point in each.data.data_points]

    def counts(self, name, *by, prefix=PREFIX):
        """The counts of a metric by these attributes."""
        counted = Counter()
        for point in self.points(name, prefix):
            counted[tuple(point.attributes[prefix + each] for each in by)] += point.value
        return dict(counted)

    def spans(self, name):
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def watch(monkeypatch):
    return Watch(monkeypatch)


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
async def runtime(watch, clock):
    async with Runtime.open("memory:", graphs=GRAPHS, clock=clock) as runtime:
        yield runtime


async def asked(runtime, clock, event):
    """The agent that asked for a handoff, once nothing more comes of it for now."""
    agent = await runtime.start("orders", at="TALKING")
    await agent.send(event)
    await at_rest(runtime, clock)
    return agent


async def target_of(runtime, agent):
    return await runtime.resume((await runtime.handoffs(source=agent.id))[-1].target)


async def test_a_transfer_is_counted_as_offered_accepted_and_completed(runtime, watch, clock):
    agent = await asked(runtime, clock, "TRANSFER")
    by = ("reason", "source.graph", "target.graph", "mode")
    assert watch.counts("offers", *by) == {("out of scope", "orders", "refunds", "transfer"): 1}
    assert watch.points("ends") == []
    (hops,) = watch.points("hops")
    assert (hops.count, hops.sum) == (1, 1)
    assert hops.attributes[PREFIX + "target.graph"] == "refunds"

    await (await target_of(runtime, agent)).send("PAID")
    assert watch.counts("ends", *by, "status") == {("out of scope", "orders", "refunds", "transfer", "completed"): 1}


async def test_latency_is_measured_from_the_offer_of_the_attempt_to_its_acceptance(runtime, watch, clock):
    await asked(runtime, clock, "AGAIN")
    await asked(runtime, clock, "AGAIN")
    clock.advance(4)
    (first,) = (await runtime.find(graph="busy")).agents
    await (await runtime.resume(first.agent_id)).send("DONE")
    clock.advance(6)
    await at_rest(runtime, clock)
    (latency,) = watch.points("latency")
    assert (latency.count, latency.min, latency.max) == (2, 0, 10)
    assert watch.counts("rejections", "obstacle") == {("no capacity",): 1}
    assert watch.counts("offers") == {(): 3}


@pytest.mark.parametrize(
    ("how", "status"),
    [("done", "completed"), ("failed", "failed"), ("stopped", "failed"), ("left", "cancelled"), ("late", "cancelled")],
)
async def test_a_delegation_is_counted_by_how_it_ends(runtime, watch, clock, how, status):
    agent = await asked(runtime, clock, "DELEGATE")
    target = await target_of(runtime, agent)
    match how:
        case "done":
            await target.send("PAID")
        case "failed":
            await target.send("BROKE")
        case "stopped":
            await runtime.stop(target.id)
        case "left":
            await agent.send("LEFT")
        case "late":
            clock.advance(60)
    await at_rest(runtime, clock)
    by = ("reason", "source.graph", "target.graph", "mode", "status")
    assert watch.counts("ends", *by) == {("out of scope", "orders", "refunds", "delegate", status): 1}


async def test_one_that_ends_as_it_is_accepted_is_counted_with_all_that_is_known(runtime, watch, clock):
    await asked(runtime, clock, "AT_ONCE")
    by = ("reason", "source.graph", "target.graph", "mode")
    assert watch.counts("ends", *by, "status") == {("out of scope", "orders", "instant", "transfer", "completed"): 1}
    (hops,) = watch.points("hops")
    assert (hops.count, hops.sum) == (1, 1)


async def test_a_rejection_is_counted_and_traced_with_its_obstacle(runtime, watch, clock, caplog):
    caplog.set_level(logging.INFO, LOG)
    agent = await asked(runtime, clock, "NOWHERE")
    assert watch.counts("rejections", "source.graph", "target.graph", "obstacle") == {
        ("orders", "nowhere", "unknown graph"): 1
    }
    assert watch.counts("ends", "status") == {("rejected",): 1}
    (offer,), (answer,) = watch.spans("handoff.offer"), watch.spans("handoff.answer")
    assert [link.context.span_id for link in answer.links] == [offer.context.span_id]
    assert answer.attributes[PREFIX + "status"] == "rejected"
    assert answer.attributes[PREFIX + "obstacle"] == "unknown graph"
    offered, rejected = [each for each in caplog.records if each.name == LOG]
    parties = f"{offered.handoff} from agent {agent.id}, graph orders, to agent {offered.target}, graph nowhere"
    assert offered.message == f"a handoff was offered: {parties}"
    assert rejected.message == f"a handoff was rejected: {parties}"
    assert (rejected.source, rejected.target_graph, rejected.obstacle) == (agent.id, "nowhere", "unknown graph")


@pytest.mark.parametrize(("late", "status"), [(True, "expired"), (False, "cancelled")])
async def test_an_offer_that_is_withdrawn_is_told_of_as_it_was_made(watch, clock, caplog, late, status):
    caplog.set_level(logging.INFO, LOG)
    store = MemoryStore()
    async with Runtime.open(store, graphs=GRAPHS, clock=clock, role=Role.VISITOR) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        withhold_mail(runtime)
        await agent.send("DELEGATE")
        (made,) = await runtime.handoffs()
        waiting = (await runtime.mail(made.target))[0]
        await store.commit([_end_of(waiting)])  # the offer is lost on its way
        if not late:
            await agent.send("LEFT")
    clock.advance(61 if late else 1)
    async with Runtime.open(store, graphs=GRAPHS, clock=clock) as runtime:
        await at_rest(runtime, clock)
        assert (await runtime.handoffs())[0].status == status
    by = ("reason", "source.graph", "target.graph", "mode", "status")
    assert watch.counts("ends", *by) == {("out of scope", "orders", "refunds", "delegate", status): 1}
    assert watch.points("rejections") == []
    (offer,), (answer, *others) = watch.spans("handoff.offer"), watch.spans("handoff.answer")
    assert all(other.status.status_code is StatusCode.ERROR for other in others)  # the offer that was sent again
    assert [link.context.span_id for link in answer.links] == [offer.context.span_id]
    assert caplog.records[-1].handoff == made.id


def _end_of(mail):
    return MailEnd(mail.number)


async def test_a_choice_is_a_trace_of_its_own_that_says_why_linked_to_the_wish(watch, clock):
    def wishing(name, domain):
        wish = Transition("TALKING", "ASK", "WAITING", actions=Handoff(Best(Needs(domains=(domain,)))))
        return StateTransitionGraph(name, context=Case, transitions=[wish], entry_points=["TALKING"])

    takes = EntryPoint("WORKING", profile=Profile(domains=("refunds",)))
    taker = StateTransitionGraph("taker", context=Case, states=["WORKING"], transitions=[], entry_points=[takes])
    async with Runtime.open(
        "memory:", graphs=[wishing("found", "refunds"), wishing("lost", "moon"), taker], clock=clock
    ) as runtime:
        for name in ("found", "lost"):
            await (await runtime.start(name, at="TALKING")).send("ASK")
            await at_rest(runtime, clock)
        rows = {each.source_graph: each for each in await runtime.handoffs()}
    wishes = {each.attributes[PREFIX + "id"]: each for each in watch.spans("handoff.offer")}
    chosen, nobody = watch.spans("handoff.choose")
    for span, row in ((chosen, rows["found"]), (nobody, rows["lost"])):
        assert [link.context.span_id for link in span.links] == [wishes[row.id].context.span_id]
        assert row.choice["details"] in span.attributes[PREFIX + "choice"]
    assert chosen.attributes[PREFIX + "recipient"] == "taker.WORKING"
    assert chosen.attributes[PREFIX + "target.agent"] == rows["found"].target
    assert (nobody.attributes[PREFIX + "status"], nobody.attributes[PREFIX + "obstacle"]) == ("rejected", "no match")
    (answer,) = watch.spans("handoff.answer")
    assert [link.context.span_id for link in answer.links] == [wishes[rows["found"].id].context.span_id]
    assert watch.counts("choices", "target.graph") == {("taker",): 1}


async def test_a_loop_is_counted_where_nobody_is_left_and_where_a_person_takes_it(runtime, watch, clock):
    await asked(runtime, clock, "BACK")
    assert watch.counts("loops", "source.graph", "target.graph") == {("mirror", "orders"): 1}
    assert watch.counts("rejections", "obstacle") == {("a loop",): 1}
    await asked(runtime, clock, "PERSON")
    assert watch.counts("loops") == {(): 2}
    assert watch.counts("rejections", "obstacle") == {("a loop",): 1}
    looped = [span for span in watch.spans("handoff.offer") if PREFIX + "obstacle" in span.attributes]
    assert [span.attributes[PREFIX + "status"] for span in looped] == ["rejected", "pending"]
    assert [span.attributes[PREFIX + "target.graph"] for span in looped] == ["orders", "busy"]


async def test_the_answer_is_a_trace_of_its_own_linked_to_the_offer(runtime, watch, clock):
    with watch.tracers.get_tracer("test").start_as_current_span("request") as request:
        agent = await asked(runtime, clock, "TRANSFER")
    (offer,), (answer,) = watch.spans("handoff.offer"), watch.spans("handoff.answer")
    assert offer.parent.span_id == request.get_span_context().span_id
    assert answer.parent is None
    (link,) = answer.links
    assert (link.context.trace_id, link.context.span_id) == (offer.context.trace_id, offer.context.span_id)
    assert offer.attributes[PREFIX + "status"] == "pending"
    assert answer.attributes[PREFIX + "status"] == "accepted"
    assert answer.attributes[PREFIX + "source.agent"] == agent.id
    assert offer.attributes[PREFIX + "id"] == answer.attributes[PREFIX + "id"]


async def test_an_offer_made_by_the_accepting_turn_belongs_to_that_turns_trace(runtime, watch, clock):
    await asked(runtime, clock, "BACK")
    (answer,) = watch.spans("handoff.answer")
    back = watch.spans("handoff.offer")[-1]
    assert back.parent.span_id == answer.context.span_id


async def test_the_link_survives_a_restart(monkeypatch, clock, tmp_path):
    url = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    before = Watch(monkeypatch)
    async with Runtime.open(url, graphs=GRAPHS, clock=clock, role=Role.VISITOR) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        withhold_mail(runtime)
        await agent.send("TRANSFER")
    (offer,) = before.spans("handoff.offer")

    after = Watch(monkeypatch)
    async with Runtime.open(url, graphs=GRAPHS, clock=clock) as runtime:
        await at_rest(runtime, clock)
        target = await target_of(runtime, agent)
        await target.send("PAID")
    (answer,) = after.spans("handoff.answer")
    (link,) = answer.links
    assert (link.context.trace_id, link.context.span_id) == (offer.context.trace_id, offer.context.span_id)
    assert link.context.is_remote
    by = ("reason", "source.graph", "status")
    assert after.counts("ends", *by) == {("out of scope", "orders", "completed"): 1}


async def test_what_an_agent_took_is_counted_with_its_reason_after_a_restart(monkeypatch, clock, tmp_path):
    url = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    async with Runtime.open(url, graphs=GRAPHS, clock=clock) as runtime:
        agent = await asked(runtime, clock, "TRANSFER")
        target = (await target_of(runtime, agent)).id
    watch = Watch(monkeypatch)
    async with Runtime.open(url, graphs=GRAPHS, clock=clock) as runtime:
        await (await runtime.resume(target)).send("PAID")
    assert watch.counts("ends", "reason", "source.graph", "status") == {("out of scope", "orders", "completed"): 1}


class Gate:
    def __init__(self):
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def wait(self):
        self.reached.set()
        await self.opened.wait()


async def test_an_event_that_waits_behind_another_callers_stays_in_its_own_callers_trace(watch, clock):
    gate, tracer = Gate(), watch.tracers.get_tracer("test")

    async def request(name, event):
        with tracer.start_as_current_span(name) as span:
            await agent.send(event)
        return span.get_span_context().span_id

    async with Runtime.open("memory:", graphs=GRAPHS, clock=clock, services=gate) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        first = asyncio.create_task(request("first", "PAUSED"))
        await gate.reached.wait()
        second = asyncio.create_task(request("second", "TRANSFER"))
        await asyncio.sleep(0)
        gate.opened.set()
        _, own = await first, await second
        await at_rest(runtime, clock)
    (offer,) = watch.spans("handoff.offer")
    assert offer.parent.span_id == own


async def test_the_span_of_an_offer_whose_commit_fails_tells_so_and_nothing_is_counted(watch, clock):
    store = WrappedStore(MemoryStore())

    async def fail(_):
        raise StoreFailedError("agents.db", "the disk is full")

    async with Runtime.open(store, graphs=GRAPHS, clock=clock) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        store.before = fail
        with pytest.raises(StoreFailedError):
            await agent.send("TRANSFER")
        (offer,) = watch.spans("handoff.offer")
        assert offer.status.status_code is StatusCode.ERROR
        assert watch.points("offers") == []


async def test_packets_carry_no_trace_where_nothing_is_traced(clock):
    async with Runtime.open("memory:", graphs=GRAPHS, clock=clock) as runtime:
        agent = await asked(runtime, clock, "TRANSFER")
        (made,) = await runtime.handoffs(source=agent.id)
        assert (made.status, made.packet["traceparent"]) == ("accepted", "")


async def test_agents_are_the_same_whether_they_are_traced_or_not(monkeypatch):
    async def story():
        clock = VirtualClock()
        async with Runtime.open("memory:", graphs=GRAPHS, clock=clock) as runtime:
            agent = await runtime.start("orders", at="TALKING", agent_id="source")
            await agent.send("TRANSFER")
            await at_rest(runtime, clock)
            (made,) = await runtime.handoffs()
            return agent.snapshot, (await target_of(runtime, agent)).snapshot, made

    untraced = await story()
    Watch(monkeypatch)
    traced = await story()
    assert traced[:2] == untraced[:2]
    assert traced[2].packet["traceparent"]
    assert {**traced[2].packet, "traceparent": ""} == untraced[2].packet


async def test_the_trace_of_a_packet_that_was_read_somewhere_is_not_taken_for_that_of_its_offer(clock):
    stale = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with Runtime.open("memory:", graphs=GRAPHS, clock=clock) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        packet = Case().packet(traceparent=stale)
        await runtime.handoff(agent.id, Handoff("refunds", at="REVIEWING", packet=packet))
        assert (await runtime.handoffs())[0].packet["traceparent"] == ""


async def test_an_offer_that_cannot_be_read_is_told_of_as_it_is_stored(watch, clock):
    store = MemoryStore()
    async with Runtime.open(store, graphs=GRAPHS, clock=clock) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        packet = Case().packet("out of scope", schema_version=0)
        await runtime.handoff(agent.id, Handoff("refunds", at="REVIEWING", packet=packet))
        await at_rest(runtime, clock)
    by = ("reason", "source.graph", "target.graph", "obstacle")
    assert watch.counts("rejections", *by) == {("out of scope", "orders", "refunds", "the packet cannot be read"): 1}


async def test_an_older_packet_that_tells_little_is_accepted_and_counted(watch, clock):
    migration = PacketMigration(0, lambda old: old)
    async with Runtime.open("memory:", graphs=GRAPHS, clock=clock, packet_migrations=[migration]) as runtime:
        agent = await runtime.start("orders", at="TALKING")
        packet = Case().packet("out of scope", schema_version=0)
        await runtime.handoff(agent.id, Handoff("refunds", at="REVIEWING", packet=packet))
        await at_rest(runtime, clock)
    (hops,) = watch.points("hops")
    assert hops.attributes[PREFIX + "source.graph"] == "orders"


async def test_every_change_of_a_handoff_is_logged_with_its_facts(runtime, clock, caplog):
    caplog.set_level(logging.INFO, LOG)
    agent = await asked(runtime, clock, "DELEGATE")
    target = await target_of(runtime, agent)
    await runtime.stop(target.id)
    await at_rest(runtime, clock)
    logged = [each for each in caplog.records if each.name == LOG]
    told = [each.message.partition(":")[0] for each in logged]
    assert told == ["a handoff was offered", "a handoff was accepted", "a handoff failed"]
    assert {each.handoff for each in logged} == {(await runtime.handoffs(source=agent.id))[0].id}
    assert {(each.source, each.target, each.mode, each.reason) for each in logged} == {
        (agent.id, target.id, "delegate", "out of scope")
    }
    assert logged[-1].details == "the agent was stopped"


WITHOUT_OPENTELEMETRY = """
import asyncio, logging, sys
sys.modules["opentelemetry"] = None  # so it cannot be imported
from gatechart import Handoff, Runtime, State, StateTransitionGraph, Transition
from gatechart import ConversationContext

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s: %(message)s")
desk = StateTransitionGraph(
    "desk",
    context=ConversationContext,
    states=["TALKING", "WAITING", State("GONE", final=True)],
    transitions=[
        Transition("TALKING", "HEARD", actions=[]),
        Transition("TALKING", "MOVED", "WAITING", actions=Handoff("refunds", at="DONE", mode="delegate")),
        Transition("WAITING", "handoff.completed", "GONE"),
        Transition("WAITING", "handoff.rejected", "TALKING"),
    ],
    entry_points=["TALKING"],
)
refunds = StateTransitionGraph(
    "refunds", context=ConversationContext, states=[State("DONE", final=True)], entry_points=["DONE"]
)

async def main():
    async with Runtime.open(sys.argv[1], graphs=[desk, refunds]) as runtime:
        agent = await runtime.start(desk, at="TALKING")
        await asyncio.gather(agent.send("HEARD"), agent.send("MOVED"))
        await agent.until("GONE")
        (handoff,) = await runtime.handoffs(source=agent.id)
        print(handoff.status.value, repr(handoff.packet["traceparent"]))

asyncio.run(main())
print("imported:", *(name for name in sys.modules if name.startswith("opentelemetry.")))
"""


@pytest.mark.parametrize("url", ["memory:", "sqlite+aiosqlite:///agents.db"])
def test_without_opentelemetry_a_runtime_hands_work_over_and_logs_it_all_the_same(url, tmp_path, processes):
    command = [sys.executable, "-c", WITHOUT_OPENTELEMETRY, url]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 0, told.stderr
    logged = [line for line in told.stdout.splitlines() if line.startswith(LOG)]
    assert [line.split(": ")[1] for line in logged] == [
        *("a handoff was offered", "a handoff was accepted", "a handoff was completed"),
    ]
    assert told.stdout.splitlines()[-2:] == ["completed ''", "imported:"]


async def test_attempts_to_get_out_are_counted_and_traced_and_the_last_of_one_that_gave_up_as_an_error(watch, clock):
    graph = ring(Nudge(), last=GiveUp(), cooldown="0s")
    async with Runtime.open("memory:", graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
    by = ("graph", "signal", "strategy", "reason")
    assert watch.counts("attempts", *by, prefix="gatechart.escape.") == {
        ("ring", "repeats", "nudge", "loop detected"): 1,
        ("ring", "repeats", "give_up", "loop detected"): 1,
    }
    (nudged,) = watch.spans("escape nudge")
    assert (nudged.attributes["gatechart.escape.agent"], nudged.status.status_code) == (agent.id, StatusCode.UNSET)
    (gave_up,) = watch.spans("escape give_up")
    assert (gave_up.attributes["gatechart.escape.attempt"], gave_up.status.status_code) == (2, StatusCode.ERROR)
