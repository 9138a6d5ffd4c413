"""What the technical support repairs, what it hands to people, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gatechart import Agent, Runtime, ToolBox
from gatechart.charts import bindings_of, dump, load
from gatechart.checks import check
from gatechart.testing import VirtualClock
from gatechart.tools import Tool, ToolContext, ToolPolicies
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.handoffs import Reason
from statecharts.hurry import hurried
from statecharts.telecom_support import telecom_support
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.graph import graphs
from statecharts.telecom_support.play import ENDS, POLICY_TIME
from statecharts.telecom_support.ticket import Ticket, Topic, read
from statecharts.telecom_support.tools import TOOLS, Services
from statecharts.telecom_support.world import Failing, ToolDownError
from tests.statecharts.small_world import NO_DATA, NO_MMS, NO_SERVICE, PEOPLE_SAY, SmallWorld

SLOW = {"data_saver": True, "network_mode": "3g_only", "vpn": True}
OFFLINE = {"airplane_mode": True, "sim": "missing", "apn": "broken"}
NO_MESSAGES = {"network_mode": "2g_only", "wifi_calling": True, "permissions": frozenset(), "mmsc_url": None}
MAY_PAY = f"{NO_SERVICE} They gave permission to pay all their overdue bills."
ABROAD = NO_DATA.replace("at home in the United States", "abroad in France")


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the agents are kept, which is nothing to the chart: in the daily tests, in memory."""
    return "memory:" if request.param == "memory" else f"sqlite+aiosqlite:///{tmp_path}/agents.db"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(POLICY_TIME)


class Support:
    """The support, with a world for each ticket."""

    def __init__(self, runtime: Runtime, services: Services) -> None:
        self.runtime = runtime
        self._services = services
        self._cases = 0

    async def asked(self, ticket: str, world: SmallWorld, failing: float = 0.0, **more: Any) -> tuple[Failing, Agent]:
        """What became of the world, and the agent at its end."""
        self._cases += 1
        id = f"case-{self._cases}"  # noqa: A001
        used = self._services.worlds[id] = Failing(world, failing, Random(id))
        payload = Ticket(ticket=ticket, **more)
        agent = await self.runtime.start(telecom_support, at="OPEN_TICKET", payload=payload, agent_id=id)
        await agent.until(*ENDS)
        return used, agent

    async def case_at_desk(self, agent: Agent) -> Agent:
        """The desk's agent that has the case."""
        (handoff,) = await self.runtime.handoffs(source=agent.id)
        return await self.runtime.resume(handoff.target)


@pytest.fixture
async def support(url: str, clock: VirtualClock) -> AsyncIterator[Support]:
    services = Services()
    async with (
        Runtime.open(url, graphs=graphs, services=services, clock=clock) as runtime,
        hurried(clock, runtime),
    ):
        yield Support(runtime, services)


def changes(used: Failing) -> list[str]:
    return [each.tool for each in used.changes]


def because(agent: Agent) -> str:
    context = agent.context
    assert isinstance(context, TelecomContext)
    return context.transferred_because


async def noticed(agent: Agent) -> list[FiredSignal]:
    """The signals that fired, oldest first."""
    return [each.fired for each in await agent.history() if each.fired]


@pytest.mark.parametrize(
    ("ticket", "broken", "repair"),
    [
        (NO_SERVICE, {}, []),
        (NO_SERVICE, {"airplane_mode": True}, ["toggle_airplane_mode"]),
        (NO_SERVICE, {"sim": "missing"}, ["reseat_sim_card"]),
        (NO_SERVICE, {"apn": "broken"}, ["reset_apn_settings", "reboot_device"]),
        (ABROAD, {"is_abroad": True}, ["toggle_roaming"]),
        (ABROAD, {"is_abroad": True, "data_roaming": True, "line_roaming": False}, ["enable_roaming"]),
        (NO_DATA, {"mobile_data": False}, ["toggle_data"]),
        (NO_DATA, {"used_gb": 15.1}, ["refuel_data"]),
        (NO_DATA, {"data_saver": True}, ["toggle_data_saver_mode"]),
        (NO_DATA, {"network_mode": "2g_only"}, ["set_network_mode_preference"]),
        (NO_DATA, {"network_mode": "4g_only"}, ["set_network_mode_preference"]),
        (NO_DATA, {"vpn": True}, ["disconnect_vpn"]),
        (NO_MMS, {"network_mode": "2g_only"}, ["set_network_mode_preference"]),
        (NO_MMS, {"wifi_calling": True}, ["toggle_wifi_calling"]),
        (NO_MMS, {"permissions": frozenset({"phone"})}, ["grant_app_permission", "grant_app_permission"]),
        (NO_MMS, {"permissions": frozenset({"storage"})}, ["grant_app_permission"]),
        (NO_MMS, {"mmsc_url": None}, ["reset_apn_settings", "reboot_device"]),
        (NO_MMS, {"airplane_mode": True, "mobile_data": False}, ["toggle_airplane_mode", "toggle_data"]),
    ],
)
async def test_what_is_broken_is_repaired_and_nothing_else_is_changed(support, ticket, broken, repair):
    used, agent = await support.asked(ticket, SmallWorld(**broken))
    assert (agent.configuration, changes(used)) == (("RESOLVED",), repair)
    assert await noticed(agent) == []


@pytest.mark.parametrize("failing", [0.0, 0.3])
@pytest.mark.parametrize("ticket", [NO_SERVICE, ABROAD, NO_MMS.replace("at home", "abroad")])
async def test_all_is_repaired_where_everything_is_broken_even_if_tools_fail(support, ticket, failing):
    broken: Mapping[str, Any] = OFFLINE | {"is_abroad": True, "line_roaming": False, "mobile_data": False}
    world = SmallWorld(**broken, **(SLOW | NO_MESSAGES), used_gb=15.1)
    _, agent = await support.asked(ticket, world, failing)
    assert agent.configuration == ("RESOLVED",)
    assert await noticed(agent) == []
    assert world.has_service
    if "MMS" in ticket:
        assert world.can_send_mms() == "Your messaging app can send MMS messages."
    elif ticket is ABROAD:
        assert "Excellent" in world.run_speed_test()


async def test_every_overdue_bill_is_paid_before_the_line_is_resumed(support):
    world = SmallWorld(line_status="Suspended", bills={"B3": "Overdue", "B2": "Issued", "B1": "Overdue"})
    used, agent = await support.asked(MAY_PAY, world)
    paid = ["send_payment_request", "make_payment"]
    assert changes(used)[2:] == [*paid, *paid, "resume_line", "reboot_device"]  # the APN settings are reset before
    assert (agent.configuration, world.bills) == (("RESOLVED",), {"B3": "Paid", "B2": "Issued", "B1": "Paid"})


async def test_a_line_without_overdue_bills_is_resumed_without_a_payment(support):
    used, agent = await support.asked(NO_SERVICE, SmallWorld(line_status="Suspended"))
    assert agent.configuration == ("RESOLVED",)
    assert "make_payment" not in changes(used)


@pytest.mark.parametrize(
    ("ticket", "broken", "reason"),
    [
        (NO_SERVICE, {"sim": "locked"}, "SIM card is locked"),
        (MAY_PAY, {"line_status": "Suspended", "contract_end": "2025-02-24", "bills": {"B1": "Overdue"}}, "contract"),
        (NO_SERVICE, {"line_status": "Suspended", "bills": {"B1": "Overdue"}}, "no permission to pay"),
        (NO_SERVICE, {"line_status": "Closed"}, "not suspended"),
        (f"{NO_DATA} They will not refuel data.", {"used_gb": 15.1}, "no more may be refueled"),
        (NO_DATA, {"used_gb": 17.5, "refueled_gb": 2.0}, "no more may be refueled"),
        (NO_DATA, {"used_gb": 18.0}, "though more was refueled"),
        (NO_DATA, {"is_abroad": True}, "everything is turned on"),
        (NO_DATA.replace("555-123-0001", "555-123-0009"), {}, "could not be identified"),
        (f"They want a new plan. {PEOPLE_SAY}", {}, "nothing that technical support repairs"),
    ],
)
async def test_what_cannot_be_repaired_goes_to_a_person_who_is_told_why(support, ticket, broken, reason):
    used, agent = await support.asked(ticket, SmallWorld(**broken))
    assert agent.configuration == ("TRANSFERRED",)
    case = await support.case_at_desk(agent)
    assert reason in case.context.current_problem
    assert case.context.initial_query == ticket
    assert case.context.reasoning[0].action == "identify_customer"
    assert case.context.reason is Reason.OUT_OF_SCOPE
    assert not {"make_payment", "send_payment_request", "resume_line"} & set(changes(used))


@pytest.mark.parametrize("who", ["Customer id C1001, 555-123-0001", "name: Ada Byron, born 1985-12-10"])
async def test_a_customer_is_found_by_id_or_by_name_and_date_of_birth(support, who):
    class NoPhoneBook(SmallWorld):
        def get_customer_by_phone(self, phone_number: str) -> Any:
            raise ValueError("not found")

        def get_customer_by_name(self, full_name: str, dob: str) -> Any:
            return [each | {"line_ids": ["L1"]} for each in super().get_customer_by_name(full_name, dob)]

    _, agent = await support.asked(f"No signal. {who}.", NoPhoneBook(airplane_mode=True))
    assert agent.configuration == ("RESOLVED",)


async def test_a_silent_ticket_permits_refueling_only_where_that_is_presumed(support):
    world = SmallWorld(used_gb=15.1)
    _, agent = await support.asked(NO_MMS, world, presumes_consent=False)
    assert (agent.configuration, world.refueled_gb) == (("TRANSFERRED",), 0)
    _, agent = await support.asked(NO_MMS, world)
    assert (agent.configuration, world.refueled_gb) == (("RESOLVED",), 2)


@pytest.mark.parametrize(("said", "refueled"), [("1.5 GB", 1.5), ("2.0 GB", 2), ("5 GB", 2), ("data", 2)])
async def test_as_much_is_refueled_as_the_ticket_says_but_no_more_than_the_policy_permits(support, said, refueled):
    world = SmallWorld(used_gb=15.1)
    await support.asked(f"{NO_DATA} They will not change their plan but they will refuel {said} if needed.", world)
    assert world.refueled_gb == refueled


async def test_a_tool_that_is_down_for_a_while_is_waited_for(support, clock):
    world = Outage(SmallWorld(airplane_mode=True), "toggle_airplane_mode", times=6)
    _, agent = await support.asked(NO_SERVICE, world)
    assert agent.configuration == ("RESOLVED",)
    assert (clock.now() - POLICY_TIME).total_seconds() >= 120
    assert await noticed(agent) == []


async def test_a_setting_is_not_toggled_again_where_its_step_failed_later_on(support):
    world = Outage(SmallWorld(airplane_mode=True), "check_status_bar", times=6, after="toggle_airplane_mode")
    used, agent = await support.asked(NO_SERVICE, world)
    assert (agent.configuration, changes(used)) == (("RESOLVED",), ["toggle_airplane_mode"])


async def test_a_tool_that_stays_down_brings_the_case_to_a_person(support):
    world = Outage(SmallWorld(airplane_mode=True), "toggle_airplane_mode", times=1000)
    _, agent = await support.asked(NO_SERVICE, world)
    assert (agent.configuration, because(agent)) == (("TRANSFERRED",), "Tools that are needed keep failing.")
    case = await support.case_at_desk(agent)
    assert case.context.reason is Reason.TOOL_FAILURE
    assert "toggle_airplane_mode is down" in case.context.reasoning[-1].outcome
    (fired,) = await noticed(agent)
    assert (fired.signal, fired.reason, fired.reaction) == ("tool_failures", Reason.TOOL_FAILURE, Reaction.TAKEN)
    assert fired.evidence[0]["tool"] == "toggle_airplane_mode"


@pytest.mark.parametrize("tool", ["get_customer_by_phone", "check_status_bar", "run_speed_test", "can_send_mms"])
async def test_whichever_tool_stays_down_is_noticed(support, tool):
    ticket = {"run_speed_test": NO_DATA, "can_send_mms": NO_MMS}.get(tool, NO_SERVICE)
    _, agent = await support.asked(ticket, Outage(SmallWorld(airplane_mode=True), tool, times=1000))
    assert agent.configuration == ("TRANSFERRED",)
    assert [(each.signal, each.evidence[0]["tool"]) for each in await noticed(agent)] == [("tool_failures", tool)]


async def test_a_case_that_goes_in_circles_comes_to_a_person(support):
    """The list of bills goes on saying that a bill is overdue which was paid."""
    world = StaleBills(line_status="Suspended", bills={"B1": "Overdue"})
    _, agent = await support.asked(MAY_PAY, world)
    assert (agent.configuration, because(agent)) == (
        ("TRANSFERRED",),
        "The support does the same again and again, and gets nowhere.",
    )
    assert (await support.case_at_desk(agent)).context.reason is Reason.LOOP_DETECTED
    (fired,) = await noticed(agent)
    assert (fired.signal, fired.reason) == ("repeats", Reason.LOOP_DETECTED)
    block = fired.evidence[0]["block"]
    assert [each["states"] for each in block if "states" in each] == [
        ["P1_S4_PAY_OVERDUE_BILL"],
        ["P1_S4_CHECK_SUSPENSION"],
    ]
    assert "make_payment" in [each.get("tool") for each in block]


@pytest.mark.parametrize(
    ("ticket", "broken", "lost", "changed"),
    [
        (NO_SERVICE, {"airplane_mode": True}, "toggle_airplane_mode", 1),
        (NO_DATA, {"used_gb": 15.1}, "refuel_data", 1),
        (MAY_PAY, {"line_status": "Suspended", "bills": {"B1": "Overdue"}}, "send_payment_request", 1),
        (MAY_PAY, {"line_status": "Suspended", "bills": {"B1": "Overdue"}}, "make_payment", 1),
        (MAY_PAY, {"line_status": "Suspended", "bills": {"B1": "Overdue"}}, "resume_line", 1),
        (NO_MMS, {"permissions": frozenset()}, "grant_app_permission", 3),
    ],
)
async def test_what_a_call_did_of_which_no_answer_came_is_not_done_twice(url, clock, ticket, broken, lost, changed):
    services = Services(tools=ToolBox([each if each.name != lost else losing_first(each, clock) for each in TOOLS]))
    policies = {lost: ToolPolicies(timeout_s=5)}
    opened = Runtime.open(url, graphs=graphs, services=services, clock=clock, tool_policies=policies)
    async with opened as runtime, hurried(clock, runtime):
        used, agent = await Support(runtime, services).asked(ticket, SmallWorld(**broken))
        assert agent.configuration == ("RESOLVED",)
        assert changes(used).count(lost) == changed


def losing_first(it: Tool, clock: VirtualClock) -> Tool:
    """The tool, which acts and then goes on for ever in its first call."""
    calls = count()

    async def acts(context: ToolContext, **arguments: Any) -> Any:
        answer = await it.function(context, **arguments)
        is_lost = next(calls) == 0
        while is_lost:
            clock.advance("1s")
            await asyncio.sleep(0)
        return answer

    return replace(it, function=acts)


class StaleBills(SmallWorld):
    """A company whose list of bills is never up to date."""

    def get_bills_for_customer(self, customer_id: str) -> Any:
        return [each | {"status": "Overdue"} for each in super().get_bills_for_customer(customer_id)]


class Outage:
    """A world in which one tool is down for so many uses, from the beginning, or once another one was used."""

    def __init__(self, world: SmallWorld, tool: str, times: int, after: str = "") -> None:
        self._world, self._tool, self._times, self._after = world, tool, times, after
        self.is_change = world.is_change

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self._after = "" if tool == self._after else self._after
        if tool == self._tool and self._times and not self._after:
            self._times -= 1
            raise ToolDownError(f"{tool} is down")
        return self._world.use(tool, arguments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Name: Ada Byron, born 1985-12-10. No service.", {"full_name": "Ada Byron", "date_of_birth": "1985-12-10"}),
        ("Phone number (555) 123-2002, since 2025-01-02", {"phone_number": "555-123-2002"}),
        ("Call +1 555 123 2002 or 555-123-0001.", {"phone_number": "555-123-2002"}),
        ("Customer C1001, phone number +49 30 1234567.", {"customer_id": "C1001", "phone_number": "+49 30 1234567"}),
        ("Slow internet; 'No Service' was shown once.", {"topic": Topic.DATA}),
        ("They cannot send pictures by MMS, nor browse.", {"topic": Topic.MMS}),
        ("No MMS. The issue is resolved when calls work.", {"topic": Topic.SERVICE}),
        ("They are traveling in France.", {"is_traveling": True}),
        ("They are not traveling.", {"is_traveling": False}),
        ("Current location: France.", {"is_traveling": True}),
        ("Current location: at home in the United States.", {"is_traveling": False}),
        ("They have not given permission to make payments.", {"may_pay": False}),
        ("They will pay, but they won't refuel data.", {"may_pay": True, "may_refuel": False}),
        ("They agree to refuel 0.5 GB.", {"may_refuel": True, "refuel_gb": 0.5}),
        ("They want to top up by 1 GB.", {"may_refuel": True, "refuel_gb": 1.0}),
        ("They have 3 GB left, and will refuel.", {"may_refuel": True, "refuel_gb": None}),
        ("Help.", {"topic": None, "phone_number": "", "may_pay": None, "may_refuel": None}),
    ],
)
def test_a_ticket_is_read_for_what_it_says(text, expected):
    request = read(text)
    assert {name: getattr(request, name) for name in expected} == expected


def test_the_chart_is_sound_and_survives_being_written_and_read_again():
    assert check(telecom_support) == ()
    again = load(dump(telecom_support), bind=bindings_of(telecom_support), context=TelecomContext)
    assert again.fingerprint == telecom_support.fingerprint


def test_every_step_of_the_policy_is_a_state_that_is_named_after_it():
    steps = {
        "P1": ("S0", "S1", "S2", "S3", "S4"),
        "P2_1": ("S1", "S2", "S3", "S4"),
        "P2_2": ("S0", "S1", "S2", "S3"),
        "P3": ("S0", "S1", "S2", "S3", "S4", "S5", "S6"),
    }
    for path, numbers in steps.items():
        for number in numbers:
            assert [state for state in telecom_support.states if state.startswith(f"{path}_{number}_")], (path, number)
