"""Work is handed to whoever is best for it: chosen once, outside the turn, with the reasons, or to nobody."""

import asyncio
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from gatechart import EntryPoint, Handoff, HandoffPacket, ModelLoop, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import OpenHandoffError, PayloadError, UnknownEntryError, UnknownSelectorError
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Accepts, Fallbacks, Human, OtherGraph
from gatechart.graph.migration import Migration
from gatechart.graph.selection import Best, NeedRule
from gatechart.graph.signals import Signal
from gatechart.graph.transfers import To, Transfers
from gatechart.selection.explaining import explanation_of
from gatechart.signals import UserAsked
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.tools import BreakerPolicy
from gatechart.values.agents import Status
from gatechart.values.commits import MailEnd
from gatechart.values.mail import Mail
from gatechart.values.names import CHOOSING as CHOOSING_MAIL
from gatechart.values.names import WITHDRAWN
from gatechart.values.profiles import Needs, Profile
from gatechart.values.tool_policies import ToolPolicies
from tests.insides import accept_mail, clock_of, core_of, host_of
from tests.runtime.choosing_agents import HIGHEST, NOBODY, Waiting, asking, begun, plain, senior
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CANCELLED,
    CHOOSING,
    COMPLETED,
    EXPIRED,
    FAILED,
    PENDING,
    REJECTED,
    Talk,
    house,
    only,
    owner,
    pass_time,
    rest,
    statuses,
    target_of,
    worker,
)
from tests.runtime.support import eventually

pytestmark = pytest.mark.sqlite_is_enough

full = worker("full", accepts=Accepts(capacity=0), profile=Profile(domains=("refunds",), tier=9))
choosy = worker("choosy", accepts=Accepts(policy=lambda packet: "no"), profile=Profile(domains=("refunds",), tier=5))


def why(row):
    return explanation_of(row.choice)


async def test_the_target_is_chosen_once_and_kept_with_the_reasons(place):
    async with house(place, asking(HIGHEST), plain, senior) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        assert (row.status, row.target_graph, row.entry_point, row.is_new) == (ACCEPTED, "senior", "WORKING", True)
        assert [change.status for change in row.changes] == [CHOOSING, PENDING, ACCEPTED]
        assert [each.id for each in why(row).judged] == ["senior.WORKING", "plain.WORKING"]
        assert why(row).seed == row.id
        assert row.changes[1].details == why(row).details
        assert row.packet["recipient"] == "senior.WORKING"
        assert agent.status is Status.DONE
        target = await target_of(runtime, agent)
        assert (target.configuration, target.context.entered) == (("WORKING",), 1)
        entry = next(each for each in await agent.history() if each.event.name == CHOOSING_MAIL)
        assert (entry.event.id, entry.event.sender) == (row.id, agent.id)


async def test_a_delegation_to_the_best_comes_back(place):
    async with house(place, asking(HIGHEST, mode="delegate"), plain, senior) as runtime:
        agent = await begun(runtime)
        assert agent.configuration == ("WAITING",)
        (standing,) = agent.snapshot.handoffs
        assert (standing.recipient, standing.is_choosing, standing.is_accepted) == ("senior.WORKING", False, True)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("TALKING",), [COMPLETED])


async def test_a_named_target_that_rejects_after_a_delegate_failed_is_told_as_a_rejection(place):
    asks = StateTransitionGraph(
        "asks",
        states=["DELEGATED", "WAITING", "REJECTED"],
        transitions=[
            Transition("TALKING", "ASK", "DELEGATED", actions=Handoff(HIGHEST, mode="delegate")),
            Transition("DELEGATED", "handoff.accepted"),
            Transition("DELEGATED", "handoff.failed", "WAITING", actions=Handoff("nowhere", at="X")),
            Transition("WAITING", "handoff.rejected", "REJECTED"),
        ],
        entry_points=["TALKING"],
    )
    async with house(place, asks, plain) as runtime:
        agent = await begun(runtime, "asks")
        await runtime.stop((await only(runtime)).target)
        await rest(runtime)
        assert agent.configuration == ("REJECTED",)


@pytest.mark.parametrize("is_invoke", [False, True])
async def test_nobody_of_the_group_of_a_delegate_that_failed_is_asked_next(place, is_invoke):
    best = Best(Needs(domains=("work",)), order=("tier",))
    groups = {"west": (3, "west"), "north": (2, "west"), "east": (1, "east")}
    doors = {name: Profile(domains=("work",), tier=tier, group=group) for name, (tier, group) in groups.items()}
    again = Handoff(best, mode="delegate")
    failed = "error.invoke.help" if is_invoke else "handoff.failed"
    asks = StateTransitionGraph(
        "asks",
        states=[State("HELPED_ON", invoke=Invoke(agent=best, id="help")) if is_invoke else "HELPED_ON", "WAITING"],
        transitions=[
            Transition("TALKING", "ASK", "HELPED_ON", actions=[] if is_invoke else again),
            Transition("HELPED_ON", failed, "WAITING", actions=again),
            Transition("HELPED_ON", "handoff.accepted"),
            Transition("WAITING", "handoff.accepted"),
            Transition("WAITING", "handoff.failed", "TALKING"),
        ],
        entry_points=["TALKING"],
    )
    async with house(place, asks, *(worker(name, profile=each) for name, each in doors.items())) as runtime:
        agent = await begun(runtime, "asks")
        first = await only(runtime)
        await runtime.stop(first.target)
        await rest(runtime)
        first, second = await runtime.handoffs(source=agent.id)
        assert [(each.target_graph, each.status) for each in (first, second)] == [("west", FAILED), ("east", ACCEPTED)]
        fallen = {each.id: each.fell.partition(":")[0] for each in why(second).judged}
        assert fallen == {"east.WORKING": "", "west.WORKING": "refused", "north.WORKING": "group"}


async def test_a_later_turn_asks_nobody_of_the_group_of_the_delegate_that_failed_last(place):
    best = Best(Needs(domains=("work",)), order=("tier",))
    groups = {"west": (3, "west"), "north": (2, "west"), "east": (1, "east")}
    doors = {name: Profile(domains=("work",), tier=tier, group=group) for name, (tier, group) in groups.items()}
    asks = StateTransitionGraph(
        "asks",
        states=["HELPED_ON"],
        transitions=[
            Transition("TALKING", "ASK", "HELPED_ON", actions=Handoff(best, mode="delegate")),
            *(Transition("HELPED_ON", f"handoff.{each}", "TALKING") for each in ("completed", "failed")),
            Transition("HELPED_ON", "handoff.accepted"),
        ],
        entry_points=["TALKING"],
    )
    async with house(place, asks, *(worker(name, profile=each) for name, each in doors.items())) as runtime:
        agent = await begun(runtime, "asks")
        await runtime.stop((await only(runtime)).target)
        await rest(runtime)
        for _ in range(2):  # the second time, the work of east has completed since west failed
            await runtime.post(agent.id, "ASK")
            await rest(runtime)
            last = (await runtime.handoffs(source=agent.id))[-1]
            await runtime.post(last.target, "DONE")
            await rest(runtime)
        made = await runtime.handoffs(source=agent.id)
        assert [each.target_graph for each in made] == ["west", "east", "west"]
        fallen = {each.id: each.fell for each in why(made[1]).judged}
        told = "group: west has failed"
        assert fallen == {"east.WORKING": "", "west.WORKING": told, "north.WORKING": told}


@pytest.mark.parametrize(
    ("more", "chosen", "fallen"),
    [
        (
            {"achieved": lambda context, event: "the address was checked"},
            "west",
            {"asks.TALKING": "asking: the agent that asks is of this graph, and may have started here"},
        ),
        ({"reason": "tool failure"}, "east", {"asks.TALKING": "asking", "west.WORKING": "group: coast has failed"}),
    ],
    ids=["after progress", "because its tools fail"],
)
async def test_who_asks_is_not_chosen_nor_its_group_if_its_tools_fail(place, more, chosen, fallen):
    asks = StateTransitionGraph(
        "asks",
        context=Talk,
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=Handoff(HIGHEST, **more)),
            Transition("WAITING", "handoff.failed", "TALKING"),
        ],
        entry_points=[EntryPoint("TALKING", profile=Profile(domains=("refunds",), tier=9, group="coast"))],
    )
    west = worker("west", profile=Profile(domains=("refunds",), tier=3, group="coast"))
    east = worker("east", profile=Profile(domains=("refunds",), tier=1, group="inland"))
    async with house(place, asks, west, east) as runtime:
        await begun(runtime, "asks")
        row = await only(runtime)
        assert (row.target_graph, row.status) == (chosen, ACCEPTED)
        told = {each.id: each.fell for each in why(row).judged if each.fell}
        assert told.keys() == fallen.keys()
        assert all(told[name].startswith(reason) for name, reason in fallen.items())


@pytest.mark.parametrize(
    "depends",
    [
        {"tools": {"crm": ToolPolicies()}},
        {"states": [State("THINKING", tools={"crm": ToolPolicies()})]},
        {"states": [State("THINKING", invoke=Invoke(ModelLoop("crm", breaker=BreakerPolicy())))]},
    ],
    ids=["a tool of the graph", "a tool of a state", "a model"],
)
async def test_who_depends_on_an_open_circuit_breaker_is_not_chosen_until_it_closes(place, depends):
    expert = StateTransitionGraph(
        "expert",
        context=Talk,
        transitions=[Transition("WORKING", "THINK", "THINKING"), Transition("THINKING", "DONE", "WORKING")],
        entry_points=[EntryPoint("WORKING", profile=Profile(domains=("refunds",), tier=9))],
        **depends,
    )
    async with house(place, asking(HIGHEST), plain, expert) as runtime:
        await runtime.isolate_breaker("crm", reason="it is moved")
        await begun(runtime)
        await runtime.close_breaker("crm")
        await begun(runtime)
        first, second = await runtime.handoffs()
        assert [each.target_graph for each in (first, second)] == ["plain", "expert"]
        assert {each.id: each.fell for each in why(first).judged}["expert.WORKING"] == "breaker: crm open"


async def test_an_offer_that_is_rejected_is_made_to_the_next_best(place):
    async with house(place, asking(HIGHEST), plain, senior, choosy, full) as runtime:
        await begun(runtime)
        rejected, taken = await runtime.handoffs()
        assert [(each.target_graph, each.status) for each in (rejected, taken)] == [
            ("choosy", REJECTED),
            ("senior", ACCEPTED),
        ]
        assert taken.request == rejected.request == rejected.id
        fallen = {each.id: each.fell for each in why(taken).judged if each.fell}
        assert fallen["choosy.WORKING"].startswith("refused")
        assert fallen["full.WORKING"].startswith("place")


async def test_nobody_is_an_outcome_with_its_evidence(place):
    async with house(place, asking(NOBODY), plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        assert (agent.configuration, row.status) == (("FAILED",), REJECTED)
        assert (row.target, row.target_graph) == (agent.id, "asking")
        assert [each.fell for each in why(row).judged] == ["domain: not moon"]
        assert row.changes[-1].details == f"no match: {why(row).details}"
        (failed,) = agent.context.told
        assert (failed["name"], failed["reason"], failed["details"]) == ("handoff.failed", "no match", why(row).details)
        (attempt,) = failed["attempts"]
        assert (attempt["graph"], attempt["agent"], attempt["obstacle"]) == ("", "", "no match")


async def test_a_person_who_gets_what_matched_nobody_is_told_so(place):
    people = Fallbacks(Human("desk", at="WORKING"))
    async with house(place, asking(NOBODY, fallbacks=people), *ALL, plain) as runtime:
        await begun(runtime)
        nobody, taken = await runtime.handoffs()
        assert (nobody.status, taken.status, taken.target_graph) == (REJECTED, ACCEPTED, "desk")
        assert (taken.reason, taken.packet["evidence"]) == ("no match", why(nobody).details)
        assert (taken.choice, taken.packet["selection"]) == (None, None)


async def test_a_person_who_is_chosen_for_what_matched_nobody_is_told_so(place):
    people = Fallbacks(Best(filters="person", order=("tier",)))
    async with house(place, asking(NOBODY, fallbacks=people), *ALL, plain) as runtime:
        for name, tier in (("bert", 2), ("anna", 3)):
            await runtime.register_entry(
                name, "desk", at="WORKING", is_person=True, profile=Profile(("talk",), tier=tier)
            )
        await begun(runtime)
        nobody, taken = await runtime.handoffs()
        assert (nobody.status, nobody.reason) == (REJECTED, "other")
        assert (taken.status, taken.packet["recipient"], taken.reason) == (ACCEPTED, "anna", "no match")
        assert (taken.packet["reason"], taken.packet["evidence"]) == ("no match", why(nobody).details)


async def test_an_entry_that_gets_a_capacity_counts_the_work_that_it_has_already(place):
    async with house(place, asking(Best(filters="person", order=("tier",))), *ALL) as runtime:
        anna = partial(runtime.register_entry, "anna", "desk", at="WORKING", is_person=True)
        await anna()
        assert (await begun(runtime)).status is Status.DONE
        assert (await anna(capacity=1)).unavailable == "full: 1 of 1"
        assert (await begun(runtime)).configuration == ("FAILED",)
        _, nobody = await runtime.handoffs()
        assert ("anna", "place: 1 of 1 places taken") in [(each.id, each.fell) for each in why(nobody).judged]


async def test_a_program_that_is_chosen_for_what_matched_nobody_has_the_first_reason(place):
    async with house(place, asking(NOBODY, fallbacks=Fallbacks(HIGHEST)), plain) as runtime:
        await begun(runtime)
        _, taken = await runtime.handoffs()
        assert (taken.target_graph, taken.reason, taken.packet["evidence"]) == ("plain", "other", "")


async def test_the_best_is_a_fallback_like_others(place):
    steps = Fallbacks(NOBODY, OtherGraph("nowhere", at="WORKING"), HIGHEST)
    async with house(place, asking("picky", at="WORKING", fallbacks=steps), *ALL, plain, senior) as runtime:
        await begun(runtime)
        rows = await runtime.handoffs()
        assert [(each.target_graph, each.status) for each in rows] == [
            ("picky", REJECTED),
            ("asking", REJECTED),
            ("nowhere", REJECTED),
            ("senior", ACCEPTED),
        ]
        assert len({each.request for each in rows}) == 1


async def test_an_invoke_delegates_to_the_best(place):
    caller = StateTransitionGraph(
        "caller",
        states=[State("CALLING", invoke=Invoke(agent=HIGHEST, id="help"))],
        transitions=[
            Transition("CALLING", "done.invoke.help", "HELPED"),
            Transition("CALLING", "error.invoke.help", "LEFT_ALONE"),
        ],
        entry_points=["CALLING"],
    )
    async with house(place, caller, plain, senior) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        await rest(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.configuration == ("HELPED",)
    lonely = StateTransitionGraph(
        "lonely",
        states=[State("CALLING", invoke=Invoke(agent=NOBODY))],
        transitions=[Transition("CALLING", "error.invoke.best", "LEFT_ALONE")],
        entry_points=["CALLING"],
    )
    async with house("memory:", lonely) as runtime:
        agent = await runtime.start("lonely", at="CALLING")
        await rest(runtime)
        assert agent.configuration == ("LEFT_ALONE",)


@pytest.mark.not_on_restate("the choice may be made there before the second event arrives")
async def test_leaving_the_state_that_waits_withdraws_what_is_not_chosen_yet(place):
    async with house(place, asking(HIGHEST), plain) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        await asyncio.gather(agent.send("ASK"), agent.send("LEAVE"))
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.choice, agent.configuration) == (CANCELLED, None, ("TALKING",))
        assert (agent.snapshot.handoffs, await runtime.mail()) == ((), [])
        await agent.send("ASK")
        await rest(runtime)
        assert await statuses(runtime) == [CANCELLED, ACCEPTED]


@pytest.mark.not_on_restate("which of two calls comes first is not said there; tests/restate/test_choosing.py has both")
@pytest.mark.parametrize("how", ["stop", "erase"])
async def test_an_agent_that_ends_takes_along_what_is_not_chosen_yet(place, how):
    async with house(place, asking(HIGHEST), plain) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        await asyncio.gather(agent.send("ASK"), getattr(runtime, how)(agent.id))
        await rest(runtime)
        assert await statuses(runtime) == ([CANCELLED] if how == "stop" else [])
        assert (await runtime.find(graph="plain")).agents == ()
        assert await runtime.mail() == []


@pytest.mark.not_on_restate("the choice is held up in the runtime; tests/restate/test_choosing.py does so in a service")
@pytest.mark.parametrize("mode", ["transfer", "delegate"])
async def test_a_withdrawal_that_comes_during_the_choice_wins(place, mode):
    async with house(place, asking(HIGHEST, mode=mode), plain) as runtime:
        chooser = Waiting(runtime)
        agent = await runtime.start("asking", at="TALKING")
        await agent.send("ASK")
        await chooser.begun.wait()
        row = await only(runtime)
        assert (row.status, row.target) == (CHOOSING, agent.id)
        await runtime.cancel_handoff(row.id, reason="the customer found it", idempotency_key="k")
        chooser.go_on.set()
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.changes[-1].details, row.choice) == (CANCELLED, "the customer found it", None)
        assert (agent.configuration, agent.context.told[-1]["details"]) == (("FAILED",), "the customer found it")
        assert (await runtime.cancel_handoff(row.id, reason="the customer found it", idempotency_key="k")).repeat
        assert (await runtime.find(graph="plain")).agents == ()


@pytest.mark.not_on_restate("the mail is put into the runtime; tests/restate/test_choosing.py puts it into an object")
async def test_a_withdrawal_that_comes_after_the_choice_reaches_the_target(place):
    async with house(place, asking(HIGHEST, mode="delegate"), plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        late = {"handoff": row.id, "expired": False, "choosing": True, "reason": "the customer found it"}
        now = clock_of(runtime).now()
        mail = Mail(core_of(runtime).number(), agent.id, WITHDRAWN, late, now, sender=agent.id)  # as if sent before
        await accept_mail(runtime, mail)
        await rest(runtime)
        assert await statuses(runtime) == [CANCELLED]
        assert agent.configuration == ("FAILED",)


@pytest.mark.needs("takes_a_clock")
async def test_what_is_not_chosen_in_time_expires(place):
    async with house(place, asking(HIGHEST, deadline="10s"), plain) as runtime:
        chooser = Waiting(runtime)
        agent = await runtime.start("asking", at="TALKING")
        await agent.send("ASK")
        await chooser.begun.wait()
        clock_of(runtime).advance(11)
        await eventually(lambda: len(host_of(agent)._queue.mail) == 2)
        chooser.go_on.set()
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("LATE",), [EXPIRED])
        assert await runtime.mail() == []


async def test_what_is_late_from_the_start_is_not_chosen(place):
    async with house(place, asking(HIGHEST, deadline=0), plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        assert (agent.configuration, row.status, row.choice) == (("LATE",), EXPIRED, None)


@pytest.mark.needs("takes_a_clock")
async def test_the_deadline_of_what_was_chosen_is_kept_by_its_target(place):
    async with house(place, asking(HIGHEST, deadline="10s", mode="delegate"), plain) as runtime:
        agent = await begun(runtime)
        await pass_time(runtime, 11)
        assert (agent.configuration, await statuses(runtime)) == (("LATE",), [CANCELLED])
        assert await runtime.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_a_choice_that_fails_is_made_again(place):
    async with house(place, asking(HIGHEST), plain) as runtime:
        chooser = Waiting(runtime, failures=2)
        chooser.go_on.set()
        await begun(runtime)
        (mail,) = await runtime.mail()
        assert (mail.attempts, mail.reason) == (1, "RuntimeError: the model does not answer")
        assert await statuses(runtime) == [CHOOSING]
        for _ in range(3):
            await pass_time(runtime, 60)
        assert (chooser.asked, await statuses(runtime)) == (3, [ACCEPTED])


@pytest.mark.needs("takes_a_clock")
async def test_a_choice_that_always_fails_matched_nobody_and_says_why(place):
    people = Fallbacks(Human("desk", at="WORKING"))
    async with house(place, asking(HIGHEST, fallbacks=people), *ALL, plain) as runtime:
        Waiting(runtime, failures=1000)
        await begun(runtime)
        for _ in range(60):
            await pass_time(runtime, 600)
        nobody, taken = await runtime.handoffs()
        assert (nobody.status, nobody.choice) == (REJECTED, None)
        assert nobody.changes[-1].details == "no match: RuntimeError: the model does not answer"
        assert (taken.status, taken.target_graph, taken.reason) == (ACCEPTED, "desk", "no match")
        assert taken.packet["evidence"] == "RuntimeError: the model does not answer"


@pytest.mark.needs("takes_a_clock")
async def test_a_choice_goes_on_in_the_next_runtime(place):
    clock = VirtualClock()
    async with house(place, asking(HIGHEST), plain, clock=clock) as runtime:
        Waiting(runtime, failures=1)
        agent = await begun(runtime)
        assert await statuses(runtime) == [CHOOSING]
    async with house(place, asking(HIGHEST), plain, clock=clock) as runtime:
        await pass_time(runtime, 60)
        row = await only(runtime)
        assert (row.status, row.source) == (ACCEPTED, agent.id)


@pytest.mark.needs("takes_a_clock")
async def test_mail_about_a_choice_that_was_lost_is_sent_again(place):
    clock = VirtualClock()
    async with house(place, asking(HIGHEST), plain, clock=clock) as runtime:
        Waiting(runtime, failures=1)
        await begun(runtime)
        (mail,) = await runtime.mail()
    async with open_store(place) as store:
        await store.commit([MailEnd(mail.number)])
    async with house(place, asking(HIGHEST), plain, clock=clock) as runtime:
        await rest(runtime)
        assert await statuses(runtime) == [ACCEPTED]


@pytest.mark.needs("takes_a_clock")
async def test_a_migration_out_of_the_state_that_waits_withdraws_what_is_not_chosen_yet(place):
    clock = VirtualClock()

    def back(stored):
        return replace(stored, configuration=("TALKING",), handoffs=())

    newer = StateTransitionGraph(
        "asking",
        version="2",
        context=Talk,
        states=["TALKING"],
        entry_points=["TALKING"],
        transitions=[Transition("TALKING", "GO", "TALKING")],
        migrations=[Migration("1", "2", back)],
    )
    async with house(place, asking(HIGHEST), plain, clock=clock) as runtime:
        Waiting(runtime, failures=1)
        agent = await begun(runtime)
    async with house(place, newer, plain, clock=clock) as runtime:
        await pass_time(runtime, 60)
        assert (await only(runtime)).status is CANCELLED
        assert (await runtime.resume(agent.id)).snapshot.handoffs == ()
        assert await runtime.mail() == []


async def test_a_rollback_behind_a_handoff_that_is_not_chosen_yet_is_refused(place):
    async with house(place, asking(HIGHEST, mode="delegate"), plain) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        _, refused = await asyncio.gather(agent.send("ASK"), agent.rollback(1, reason="again"), return_exceptions=True)
        await rest(runtime)
        assert isinstance(refused, OpenHandoffError)
        assert await statuses(runtime) == [ACCEPTED]


def is_senior(packet, candidate):
    return candidate.profile.level > 2 or "too young"


def by_name(packet, candidate):
    return 1.0 if candidate.graph == packet.entities["wanted"] else 0.0


async def test_a_graph_chooses_by_functions_of_its_own(place):
    own = Best(Needs(domains=("refunds",)), scorers={by_name: 1.0}, filters=[is_senior])
    packet = HandoffPacket(entities={"wanted": "choosy"})
    graph = asking(own, packet=lambda context, event: packet)
    assert graph.selectors == {"by_name": by_name, "is_senior": is_senior}
    async with house(place, graph, plain, senior, choosy) as runtime:
        await begun(runtime)
        tried, taken = await runtime.handoffs()
        assert (tried.target_graph, taken.target_graph) == ("choosy", "senior")
        assert {each.id: each.fell for each in why(tried).judged}["plain.WORKING"] == "is_senior: too young"
        assert why(tried).judged[0].scores == (("by_name", 1.0),)


def break_down(packet, candidate):
    raise SystemExit("no model here")


@pytest.mark.needs("takes_a_clock")
async def test_a_function_that_raises_ends_nothing_but_the_choice(place):
    async with house(place, asking(Best(order="tier", filters=[break_down])), plain) as runtime:
        agent = await begun(runtime)
        for _ in range(60):
            await pass_time(runtime, 600)
        assert agent.configuration == ("FAILED",)
        assert "SystemExit: no model here" in agent.context.told[-1]["details"]


def stumbling(packet, candidate):
    raise KeyError("seats")


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize(
    ("best", "told"),
    [
        (Best(scorers={stumbling: 1}), "the scorer 'stumbling' raised KeyError: 'seats'"),
        (Best(order="tier", filters=stumbling), "the filter 'stumbling' raised KeyError: 'seats'"),
    ],
)
async def test_after_the_last_try_of_a_function_that_raises_the_next_fallback_gets_the_work(place, best, told):
    people = Fallbacks(Human("desk", at="WORKING"))
    async with house(place, asking(best, fallbacks=people), *ALL, plain) as runtime:
        await begun(runtime)
        for _ in range(60):
            await pass_time(runtime, 600)
        nobody, taken = await runtime.handoffs()
        assert (nobody.status, nobody.choice) == (REJECTED, None)
        assert told in nobody.changes[-1].details
        assert (taken.status, taken.target_graph, taken.reason) == (ACCEPTED, "desk", "no match")
        assert told in taken.packet["evidence"]


async def test_what_is_asked_in_code_is_chosen_alike(place):
    def ask(context, event, turn):
        turn.handoff(HIGHEST, packet=context.packet(), fallbacks=Fallbacks(NOBODY))

    graph = StateTransitionGraph(
        "coding",
        context=Talk,
        entry_points=["TALKING"],
        transitions=[Transition("TALKING", "ASK", "WAITING", actions=ask)],
    )
    async with house(place, graph, plain, senior) as runtime:
        await begun(runtime, "coding")
        assert (await only(runtime)).target_graph == "senior"


@pytest.mark.parametrize(
    ("wanted", "why_not"),
    [
        ({"at": "WORKING"}, "its target is to be chosen, but at= or agent= names one"),
        ({"agent": "a"}, "its target is to be chosen, but at= or agent= names one"),
        ({"to": Best(filters=[is_senior])}, "no filter is named 'is_senior'"),
        ({"fallbacks": Fallbacks(Best(scorers={by_name: 1.0}))}, "no scorer is named 'by_name'"),
    ],
)
async def test_what_cannot_be_chosen_is_refused_in_the_turn(wanted, why_not):
    raised = []

    def ask(context, event, turn):
        try:
            turn.handoff(**{"to": HIGHEST} | wanted)
        except (PayloadError, UnknownSelectorError) as error:
            raised.append(str(error))

    graph = StateTransitionGraph(
        "coding",
        context=Talk,
        entry_points=["TALKING"],
        transitions=[Transition("TALKING", "ASK", "WAITING", actions=ask)],
    )
    async with house("memory:", graph, plain) as runtime:
        agent = await begun(runtime, "coding")
        assert why_not in raised[0]
        assert (agent.configuration, await runtime.handoffs()) == (("WAITING",), [])


async def test_a_transfer_leads_to_the_best(place):
    async def consider(context, work):
        offer = await work.transfer_tools()
        assert sorted(offer.targets) == ["transfer_to_TALKING", "transfer_to_best"]
        await work.transfer("transfer_to_best", {"reason": "it is about money"})

    considering = StateTransitionGraph(
        "considering",
        context=Talk,
        states=[
            State(
                "CONSIDERING",
                invoke=consider,
                transfers=Transfers([To(HIGHEST), To("TALKING")], otherwise="TALKING"),
            ),
            "TALKING",
        ],
        entry_points=["CONSIDERING"],
    )
    async with house(place, considering, plain, senior) as runtime:
        agent = await runtime.start("considering", at="CONSIDERING")
        await eventually(lambda: agent.status is Status.DONE)
        row = await only(runtime)
        assert (row.target_graph, row.packet["recipient"]) == ("senior", "senior.WORKING")
        assert agent.configuration == ("CONSIDERING_TO_best",)


async def test_a_transfer_that_matches_nobody_leads_back(place):
    tries = []

    async def consider(context, work):
        tries.append(await work.transfer_tools())
        if len(tries) == 1:
            await work.transfer("transfer_to_expert", {"reason": "it is about the moon"})

    named = Best(Needs(domains=("moon",)), name="expert")
    considering = StateTransitionGraph(
        "considering",
        context=Talk,
        states=[
            State(
                "CONSIDERING",
                invoke=consider,
                transfers=Transfers([To(named), To("TALKING")], otherwise="TALKING"),
            ),
            "TALKING",
        ],
        entry_points=["CONSIDERING"],
    )
    async with house(place, considering, plain) as runtime:
        agent = await runtime.start("considering", at="CONSIDERING")
        await eventually(lambda: agent.configuration == ("TALKING",))
        assert "said handoff.failed: none of 1 fits" in tries[1].text
        assert await statuses(runtime) == [REJECTED]


async def test_the_answer_to_a_signal_is_given_to_the_best(place):
    noticing = StateTransitionGraph(
        "noticing",
        context=Talk,
        transitions=[Transition("TALKING", "SAID", "TALKING")],
        entry_points=["TALKING"],
        signals=Signal(UserAsked(), "asked_for", answer=Handoff(HIGHEST), otherwise="TALKING"),
    )
    async with house(place, noticing, plain, senior) as runtime:
        agent = await runtime.start("noticing", at="TALKING")
        await agent.send("SAID", {"text": "let me talk to a human"})
        await rest(runtime)
        assert agent.configuration == ("ASKING_best",)
        assert (await only(runtime)).target_graph == "senior"


async def test_work_is_handed_on_from_the_best_as_from_anybody(place):
    async with house(place, asking(HIGHEST), *ALL, senior) as runtime:
        agent = await begun(runtime)
        target = await target_of(runtime, agent)
        await target.send("ASK", {"to": "second"})
        await rest(runtime)
        _, second = await runtime.handoffs()
        assert (second.target_graph, second.packet["recipient"], second.packet["selection"]) == ("second", "", None)
        assert await owner(runtime, agent.id) == second.target


async def test_many_at_once_overbook_nobody(place):
    places = Accepts(capacity=3)
    graphs = [worker(name, accepts=places, profile=Profile(domains=("refunds",))) for name in ("one", "two", "three")]
    async with Runtime.open(place, graphs=[asking(HIGHEST), *graphs]) as runtime:
        agents = [await runtime.start("asking", at="TALKING") for _ in range(20)]
        await asyncio.gather(*(agent.send("ASK") for agent in agents))
        await eventually(
            lambda: all(each.configuration == ("FAILED",) or each.status is Status.DONE for each in agents)
        )
        taken = await runtime.handoffs(status=ACCEPTED)
        assert Counter(each.target_graph for each in taken) == {"one": 3, "two": 3, "three": 3}
        left = [agent for agent in agents if agent.configuration == ("FAILED",)]
        assert len(left) == 11
        for agent in left:
            told = agent.context.told[-1]
            assert (told["reason"], told["attempts"][-1]["obstacle"]) == ("no match", "no match")


ANNA = Best(entries="anna")


async def idle(runtime):
    """An agent that hands nothing on by itself, beside a person who may have one piece of work."""
    await runtime.register_entry("anna", "desk", at="WORKING", is_person=True, capacity=1, profile=Profile(("talk",)))
    return await runtime.start("asking", at="TALKING")


async def test_an_operator_hands_on_to_somebody_in_the_directory_whose_place_is_taken_as_by_a_choice(place):
    async with house(place, asking(NOBODY), *ALL, senior) as runtime:
        agent = await idle(runtime)
        packet = HandoffPacket(current_problem="nothing that she says of herself")
        assert await runtime.handoff(agent.id, Handoff(ANNA, packet=packet))
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.target_graph, row.packet["recipient"]) == (ACCEPTED, "desk", "anna")
        assert why(row).details.startswith("anna is the only one that fits")
        (entry,) = await runtime.directory("anna")
        assert entry.unavailable == "full: 1 of 1"
        other = await runtime.start("asking", at="TALKING")
        await runtime.handoff(other.id, Handoff(ANNA))
        await rest(runtime)
        (nobody,) = await runtime.handoffs(source=other.id)
        assert (nobody.status, why(nobody).details) == (REJECTED, "anna is left out by place: 1 of 1 places taken")
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        (entry,) = await runtime.directory("anna")
        assert (entry.unavailable, [each.ended for each in entry.outcomes]) == ("", ["completed"])


async def test_an_operator_hands_on_to_the_best_by_needs(place):
    async with house(place, asking(NOBODY), *ALL, plain, senior) as runtime:
        agent = await idle(runtime)
        await runtime.handoff(agent.id, Handoff(Best(Needs(domains=("refunds",), tier=2))))
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.packet["recipient"]) == (ACCEPTED, "senior.WORKING")


async def test_whoever_is_excluded_is_reached_by_name_and_whoever_is_closed_is_not(place):
    async with house(place, asking(NOBODY), *ALL) as runtime:
        agent = await idle(runtime)
        for mark, status in (("closed", REJECTED), ("excluded", ACCEPTED)):
            await runtime.mark_entry("anna", mark)
            await runtime.handoff(agent.id, Handoff(ANNA))
            await rest(runtime)
            assert (await runtime.handoffs())[-1].status == status


async def test_what_an_operator_cannot_hand_on_to_is_refused_and_changes_nothing(place):
    async with house(place, asking(NOBODY), *ALL) as runtime:
        agent = await idle(runtime)
        version = agent.snapshot.version
        for to, error in (
            (Best(entries="bert"), UnknownEntryError),
            (Best(entries=("anna", "bert")), UnknownEntryError),
            (Best(order="nearness"), UnknownSelectorError),
            (Best(order="person"), UnknownSelectorError),  # a filter
            (Best(filters="load"), UnknownSelectorError),  # a scorer
            (Best(filters="tier"), UnknownSelectorError),  # a scorer, and a filter that always applies
            (Best(rules=NeedRule(Needs(tier=2))), PayloadError),
            (Best(lambda packet: Needs()), PayloadError),
            (Best("refunds"), PayloadError),
            (Best(Needs(tier=-1)), PayloadError),
            (Best(Needs(domains="refunds")), PayloadError),
            (Best(Needs(domains=("a\0b",))), PayloadError),
            (Best(scorers={"tier": float("nan")}), PayloadError),
            (Best(least=2), PayloadError),
        ):
            for handoff in (Handoff(to), Handoff(NOBODY, fallbacks=Fallbacks(to))):
                with pytest.raises(error):
                    await runtime.handoff(agent.id, handoff)
        with pytest.raises(PayloadError, match="both best= and to=, at= or agent= name a target"):
            await runtime.handoff(agent.id, Handoff(ANNA, at="WORKING"))
        await rest(runtime)
        assert (len(await runtime.handoffs()), (await runtime.read(agent.id)).version) == (0, version)
