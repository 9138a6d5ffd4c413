"""Waits before another attempt on the engine: bounded whatever the clock said, and ended by an operator."""

import asyncio
import json
from datetime import timedelta

import pytest

from gatechart import AgentContext, Runtime, StateTransitionGraph, Transition
from gatechart.errors import UnknownMailError
from gatechart.hosting.registry import Registry
from gatechart.restate.handlers import decide
from gatechart.restate.state import MAIL, STATE, AgentState, plain, unpacked
from gatechart.restate.terms import ServiceConfig, Terms
from gatechart.values.delays import Retry
from gatechart.values.mail import Mail, MailStatus
from tests.restate.engines import eventually

MOST_S = 600.0
PATIENT = Retry(attempts=9, first_s=300.0, factor=2.0, most_s=MOST_S)
YEAR = timedelta(days=365)


class Model:
    def __init__(self):
        self.is_up = False
        self.calls = 0


def ask(context, event, turn):
    turn.services.calls += 1
    if not turn.services.is_up:
        raise ConnectionError("down")


line = StateTransitionGraph(
    "line",
    context=AgentContext,
    transitions=[Transition("OPEN", "ASKED", actions=ask), Transition("OPEN", "NOTED")],
    entry_points=["OPEN"],
)


@pytest.fixture
async def model():
    return Model()


@pytest.fixture
def config(model):
    return ServiceConfig(Registry(line), model, Terms(mail_retry=PATIENT))


async def begun(config):
    told = {"graph": "line", "at": "OPEN", "payload": {}}
    return STATE.validate_json((await decide(config, "l-1", None, None, "begin", told)).state)


async def test_a_moment_of_a_clock_that_was_ahead_holds_mail_no_longer_than_the_policy(config):
    kept = await begun(config)
    kept.mail.append(Mail(1, "l-1", "ASKED", {}, config.now(), attempts=1, retry_at=config.now() + YEAR))
    decided = await decide(config, "l-1", STATE.dump_json(kept), None, "drain", {})
    assert (decided.following, decided.wait_s, decided.waits_for) == ("drain", MOST_S, 1)
    [waiting] = STATE.validate_json(decided.state).mail
    assert waiting.retry_at <= config.now() + timedelta(seconds=MOST_S)


async def test_mail_whose_wait_was_ended_is_tried_whenever_it_was_to_be(config, model):
    kept = await begun(config)
    kept.mail.append(Mail(1, "l-1", "ASKED", {}, config.now(), attempts=1, retry_at=config.now() + timedelta(hours=1)))
    model.is_up = True
    decided = await decide(config, "l-1", STATE.dump_json(kept), None, "drain", {}, lifted=1)
    assert (model.calls, STATE.validate_json(decided.state).mail) == (1, [])


@pytest.mark.parametrize(("field", "kind"), [("fallbacks", "same_target"), ("ladder", "again")])  # the latter of before
@pytest.mark.parametrize("comes", ["deliver", "wake"])
async def test_the_next_attempt_of_a_handoff_is_due_no_later_than_its_fallbacks_say(config, comes, field, kind):
    payload = {field: [{"kind": kind, "attempts": 3, "first_s": 1.0, "factor": 2.0, "most_s": 60.0}]}
    offer = Mail(1, "l-2", "handoff.offered.OPEN", payload, config.now(), sender="a", due=config.now() + YEAR)
    kept = AgentState(mail=[offer], numbers=2)
    told = {"number": 1} if comes == "wake" else {"mail": plain(MAIL, offer)}
    decided = await decide(config, "l-2", STATE.dump_json(kept if comes == "wake" else AgentState()), None, comes, told)
    [waiting] = STATE.validate_json(decided.state).mail
    assert waiting.due <= config.now() + timedelta(seconds=60)
    assert [order["after_s"] <= 60 for order in decided.orders if order["do"] == "wake"] == [True]


def test_a_run_of_before_waits_could_be_ended_only_sleeps_when_it_is_repeated():
    before = {"orders": [], "answer": None, "following": "drain", "wait_s": 5.0, "place": None, "versions": []}
    assert unpacked(b"\n".join((json.dumps(before).encode(), b"", b""))).waits_for == 0


async def test_the_wait_of_mail_is_ended_in_its_place(place, model):
    async with Runtime.open(place, graphs=[line], services=model, mail_retry=PATIENT) as runtime:
        await runtime.start("line", at="OPEN", agent_id="l-1")
        await runtime.post("l-1", "ASKED")
        await runtime.post("l-1", "NOTED")

        async def failed(times):
            found = await super(type(runtime), runtime).mail("l-1", status=MailStatus.WAITING)
            return bool(found) and found[0].attempts == times and found[0].retry_at is not None

        await eventually(lambda: failed(1))
        [asked, *_] = await super(type(runtime), runtime).mail("l-1")
        lifted = await asyncio.wait_for(runtime.retry(asked.number, to="l-1"), 20)
        assert (lifted.number, lifted.attempts, lifted.retry_at) == (asked.number, 1, None)
        await eventually(lambda: failed(2))
        model.is_up = True
        await runtime.retry(asked.number, to="l-1")

        async def is_done():
            return (await runtime.resume("l-1")).snapshot.version == 3

        await eventually(is_done)
        await runtime.at_rest()
        assert [each.event.name for each in await runtime.history("l-1")][1:] == ["ASKED", "NOTED"]
        with pytest.raises(UnknownMailError):
            await runtime.retry(asked.number, to="l-1")
