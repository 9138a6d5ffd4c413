"""Agents that the release before left on an engine, and what was under way there, go on with this one.

`tests/restate/earlier/engine.tar.xz` is what `tests/restate/earlier/fill.py` kept of such an engine.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gatechart.errors import NoTimerError, UnknownMailError
from gatechart.values.agents import Status
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import MailStatus
from tests.restate.earlier.agents import LATER
from tests.restate.earlier.home import opened, refilled
from tests.restate.engines import Engine, eventually
from tests.restate.fixtures import there_or_skipped

TRIED_AGAIN = "SELECT target, last_failure FROM sys_invocation WHERE status IN ('backing-off', 'paused')"


@dataclass
class Home:
    """An engine that goes on, and a folder with what it was kept with."""

    engine: Engine
    folder: Path

    def open(self):
        """A runtime of this release."""
        return opened(self.engine, LATER, self.folder)

    def steps(self, agent_id):
        """Which steps of the agent were really taken, in both releases."""
        lines = (self.folder / "ledger").read_text().splitlines()
        return Counter(line.split()[1] for line in lines if line.split()[0] == agent_id)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    with there_or_skipped(folder, refilled) as (engine, service):
        asyncio.run(service.registered(engine))
        yield Home(engine, folder)


@pytest.fixture
async def runtime(home):
    async with home.open() as opened:
        yield opened


async def noted(runtime, agent_id, *expected):
    """Returns once that is what the agent has written down, in this order. It has no more to come."""

    async def has_noted():
        return len((await runtime.resume(agent_id)).context.notes) >= len(expected)

    await eventually(has_noted)
    assert (await runtime.resume(agent_id)).context.notes == list(expected)


async def heard(runtime, agent_id, *expected):
    async def has_heard():
        return len((await runtime.resume(agent_id)).context.told) >= len(expected)

    await eventually(has_heard)
    assert (await runtime.resume(agent_id)).context.told == [f"handoff.{each}" for each in expected]


async def last_handoff(runtime, agent_id):
    await runtime.caught_up(agent_id)
    return (await runtime.handoffs(source=agent_id))[-1]


async def solve(runtime, agent_id):
    """Has the agent do its work, once it has it."""

    async def works():
        return (await runtime.resume(agent_id)).configuration == ("WORKING",)

    await eventually(works)
    await (await runtime.resume(agent_id)).send("SOLVED")


async def test_mail_and_calls_that_came_while_no_service_ran_are_taken_in_order(runtime):
    expected = [f"NOTED {each}" for each in ("0", "1", "2", '"unprojected"', '"posted 0"', '"posted 1"', '"sent"')]
    await noted(runtime, "plain", *expected)


async def test_ids_that_were_applied_are_still_known(runtime):
    await noted(runtime, "plain", *[*(await runtime.resume("plain")).context.notes])
    agent = await runtime.start("notes", at="RESTING", agent_id="plain", idempotency_key="begun")
    before = agent.snapshot.version
    assert (await agent.send("NOTED", {"n": 1}, event_id="event-1")).repeat
    assert (await agent.send("NOTED", {"n": "unprojected"}, event_id="unprojected")).repeat
    assert (await runtime.resume("plain")).snapshot.version == before


async def test_turns_that_were_not_projected_are(runtime):
    await eventually(lambda: _is_at(runtime, "plain", 8))
    await runtime.caught_up("plain")
    history = await runtime.history("plain")
    assert [each.version for each in history] == list(range(1, 9))
    assert [each.event.id for each in history[:5]] == ["begun", "event-0", "event-1", "event-2", "unprojected"]


async def _is_at(runtime, agent_id, version):
    return (await runtime.resume(agent_id)).snapshot.version == version


async def test_an_invoke_under_way_goes_on_behind_its_recorded_step(runtime, home):
    await noted(runtime, "reader", 'done.invoke.read ["first", "second"]')
    assert home.steps("reader") == {"first": 1, "second": 1}


async def test_an_invoke_that_waits_for_another_attempt_makes_it_with_its_recorded_step(runtime, home):
    await noted(runtime, "trier", 'done.invoke.try_out "begun"')
    assert home.steps("trier") == {"begun": 1}


async def test_mail_that_waits_for_another_attempt_keeps_its_place_before_what_waits_behind_it(runtime):
    await noted(runtime, "stumbler", 'STUMBLED "stumbled"', 'NOTED "behind"', 'NOTED "sent behind"')


async def test_offers_that_wait_behind_mail_are_taken_and_their_work_done_unless_they_come_too_late(runtime):
    await heard(runtime, "hasty", "expired")
    await heard(runtime, "caller", "accepted")
    await solve(runtime, "busy")
    await heard(runtime, "caller", "accepted", "completed")


async def test_an_offer_whose_place_was_being_asked_for_is_answered(runtime):
    await heard(runtime, "queuer", "rejected")


async def test_who_holds_a_place_gives_it_back_and_an_offer_that_was_put_off_gets_it(runtime):
    await solve(runtime, (await last_handoff(runtime, "guest")).target)
    await heard(runtime, "guest", "accepted", "completed")
    offered = await last_handoff(runtime, "patient")
    if offered.status is HandoffStatus.PENDING:
        for offer in await runtime.mail(offered.target):
            with suppress(NoTimerError, UnknownMailError):  # its time has come meanwhile
                await runtime.fire_timer(offer.number, to=offered.target, reason="it need not wait")
    await heard(runtime, "patient", "accepted")


async def test_handoffs_stand_as_they_did_and_who_was_accepted_goes_on(runtime):
    for agent_id, status in (
        ("giver", HandoffStatus.ACCEPTED),
        ("completed", HandoffStatus.COMPLETED),
        ("failing", HandoffStatus.FAILED),
        ("refused", HandoffStatus.REJECTED),
        ("hasty", HandoffStatus.EXPIRED),
        ("cancelled", HandoffStatus.CANCELLED),
        ("overdue", HandoffStatus.CANCELLED),
    ):
        assert (await last_handoff(runtime, agent_id)).status is status, agent_id
    given = await runtime.resume((await last_handoff(runtime, "giver")).target)
    assert given.configuration == ("WORKING",)
    await solve(runtime, (await last_handoff(runtime, "boss")).target)
    await heard(runtime, "boss", "accepted", "completed")


async def test_timers_fire_once_and_those_that_are_not_due_stay(runtime):
    await noted(runtime, "timed", 'RANG "soon"')
    late = next(each for each in await runtime.mail("timed") if each.key == "late")
    assert late.due > datetime(2100, 1, 1, tzinfo=UTC)
    await runtime.fire_timer(late.number, to="timed", reason="it is time")
    await noted(runtime, "timed", 'RANG "soon"', 'RANG "late"')

    async def is_back():
        return (await runtime.resume("away")).configuration == ("BACK",)

    await eventually(is_back)


async def test_agents_that_have_ended_have_ended_and_refused_and_dead_mail_is_kept(runtime):
    for agent_id, status in (("ended", Status.DONE), ("failed", Status.FAILED), ("stopped", Status.STOPPED)):
        assert (await runtime.resume(agent_id)).snapshot.status is status
    (refused,) = await runtime.mail("failed")
    assert (refused.status, refused.id, refused.payload) == (MailStatus.REFUSED, "refused", {"n": "too late"})
    (dead,) = await runtime.mail("died", status=MailStatus.DEAD)
    assert (dead.id, dead.attempts) == ("dead", 2)
    await runtime.retry(dead.number, to="died")
    await noted(runtime, "died", 'STUMBLED "dead"')


async def test_mail_of_an_agent_that_is_yet_to_begin_waits_and_is_not_accepted_again(runtime):
    await runtime.post("unborn", "NOTED", {"n": 0}, event_id="posted-0")
    await runtime.post("unborn", "NOTED", {"n": 3}, event_id="posted-3")
    await runtime.start("notes", at="RESTING", agent_id="unborn")
    await noted(runtime, "unborn", *(f"NOTED {n}" for n in range(4)))


async def test_large_mail_and_a_large_context_are_read_and_what_was_put_off_comes(runtime):
    large = await runtime.resume("large")
    assert large.context.text == "x" * 200_000
    await large.send("NOTED", {"n": 1})
    await runtime.start("notes", at="RESTING", agent_id="hoard")
    await noted(runtime, "hoard", *(f"NOTED {n}" for n in range(3)))


async def test_agents_keep_their_version_or_migrate_or_find_the_graph_again(runtime):
    assert (await runtime.resume("letter")).snapshot.graph_version == "1"
    assert (await runtime.resume("letter-2")).snapshot.graph_version == "2"
    await noted(runtime, "parcel", "NOTED 0", 'NOTED "posted 0"', 'NOTED "posted 1"')
    parcel = await runtime.resume("parcel")
    assert (parcel.snapshot.graph_version, parcel.configuration, parcel.context.currency) == ("2", ("PATIENT",), "EUR")
    await noted(runtime, "rare", "NOTED 0", "NOTED 1")


async def test_nothing_is_left_that_the_engine_tries_again_and_again(runtime, home):
    async def is_calm():
        return await home.engine.ask(TRIED_AGAIN) == []

    await eventually(is_calm)
