"""Choices of targets at the object of their source: made once, in a run of their own, and withdrawn in its order."""

import asyncio
import json
from functools import partial

import pytest

from gatechart import AgentContext, Handoff, HandoffPacket, Runtime, StateTransitionGraph, Transition
from gatechart.graph.handoff import Accepts
from gatechart.graph.selection import Best
from gatechart.hosting.choosing import Choosing
from gatechart.hosting.directory_graph import MARK, directory_graph
from gatechart.hosting.limits import Limits
from gatechart.hosting.registry import Registry
from gatechart.restate import RestateRuntime, choices
from gatechart.restate.directory import ServiceChooser
from gatechart.restate.handlers import decide
from gatechart.restate.migration.move import move_to_engine
from gatechart.restate.state import MAIL, STATE, TURNS, plain, unpacked
from gatechart.restate.terms import ServiceConfig, Terms
from gatechart.stores import MemoryStore
from gatechart.values.agents import Status
from gatechart.values.delays import Retry
from gatechart.values.directory import Mark
from gatechart.values.effects import withdrawal_of
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.handoffs import HandoffQuery, HandoffStatus, Obstacle
from gatechart.values.mail import Mail
from gatechart.values.names import CHOOSING, WITHDRAWN
from gatechart.values.profiles import Needs, Profile
from tests.insides import core_of
from tests.restate.engines import eventually
from tests.restate.moving import home, quiet
from tests.runtime.choosing_agents import HIGHEST, NOBODY, asking, begun, senior
from tests.runtime.choosing_agents import plain as plain_worker
from tests.runtime.handovers import ACCEPTED, CANCELLED, house, only, rest, statuses, target_of, worker

QUICK = Retry(attempts=2, first_s=0.0, factor=1.0)
UNDECIDED = HandoffStatus.CHOOSING


def config(*graphs, **more):
    registry = Registry(graphs)
    registry.register_own(DIRECTORY_GRAPH, directory_graph)
    return ServiceConfig(registry, terms=Terms(mail_retry=QUICK), projects=True, **more)


class Object:
    """An agent's object, without an engine: what its runs decide, and what it sends."""

    def __init__(self, config, agent_id="a"):
        self.config, self.agent_id = config, agent_id
        self.state, self.ids = None, None
        self.turns, self.sent, self.orders, self.asked = [], [], [], []

    async def run(self, verb, argument=None, choose=True):
        """Carry out a verb as the object does. choose: whether it makes the choices that it is asked for."""
        known = {}
        while True:
            entry = await decide(self.config, self.agent_id, self.state, self.ids, verb, argument or {}, **known)
            entry = unpacked(entry.packed())
            if entry.choice is not None:
                self.asked.append(entry.choice)
                if not choose:
                    return entry
                made = await choices.choice_for(self.config, entry.choice, [])
                known = {"choices": {entry.choice["packet"]["handoff_id"]: json.loads(made)}}
                continue
            self.state, self.ids, known = entry.state or self.state, entry.ids or self.ids, {}
            self.turns += [TURNS.validate_json(b"[" + text + b"]")[0] for _, text in entry.turns]
            self.orders += entry.orders
            self.sent += [MAIL.validate_python(each["mail"]) for each in entry.orders if each["do"] == "deliver"]
            if not entry.following:
                return entry
            verb = entry.following

    async def take(self, mail, **more):
        return await self.run("deliver", {"mail": plain(MAIL, mail)}, **more)

    def to_itself(self, event):
        """Mail to the agent itself that is on its way."""
        found = next(each for each in self.sent if (each.recipient, each.event) == (self.agent_id, event))
        self.sent.remove(found)
        return found

    @property
    def kept(self):
        return STATE.validate_json(self.state)

    @property
    def settled(self):
        return [(each.before, each.after) for turn in self.turns for each in turn.settles]


async def asked(*graphs, **more):
    """The object of an agent that has asked for the best, and the mail that has the target chosen."""
    source = Object(config(*graphs, **more))
    await source.run("begin", {"graph": "asking", "at": "TALKING", "payload": None})
    told = {"event": "ASK", "payload": {}, "id": None, "life": source.kept.life}
    await source.run("send", told)
    return source, source.to_itself(CHOOSING)


async def test_a_choice_is_asked_for_before_anything_is_kept():
    source, mail = await asked(asking(HIGHEST), plain_worker)
    before = source.state
    entry = await source.take(mail, choose=False)
    assert (entry.state, entry.turns, entry.orders, source.state) == (None, [], [], before)
    assert entry.choice["packet"]["handoff_id"] == mail.id


async def test_the_choice_and_the_offer_are_one_turn():
    source, mail = await asked(asking(HIGHEST), plain_worker, senior)
    await source.take(mail)
    ((chosen,),) = (turn.chosen for turn in source.turns if turn.chosen)
    assert (chosen.handoff.target_graph, chosen.handoff.choice["seed"]) == ("senior", mail.id)
    (offer,) = (each for each in source.sent if each.event.startswith("handoff.offered."))
    assert offer.recipient == chosen.handoff.target
    assert source.kept.offers == {}


async def test_the_agent_of_an_entry_is_begun_with_the_first_choice_of_it():
    source, mail = await asked(asking(HIGHEST), senior)
    await source.take(mail)
    (begins,) = (each for each in source.orders if each["do"] == "begin")
    assert begins["to"] == "directory:senior.WORKING"
    keeper = Object(source.config, begins["to"])
    await keeper.run("begin", begins["told"])
    assert keeper.kept.snapshot.status is Status.ACTIVE
    assert await source.config.chooser.directory.kept("senior.WORKING") is not None
    assert "error" in (await keeper.run("begin", begins["told"])).answer  # another source began it


async def test_nobody_is_told_with_the_next_turn_and_why():
    source, mail = await asked(asking(NOBODY), senior)
    await source.take(mail)
    assert [turn.settles for turn in source.turns] == [(), ()]
    await source.take(source.to_itself("handoff.rejected"))
    (nobody,) = source.turns[-1].settles
    assert (nobody.before, nobody.after) == (UNDECIDED, HandoffStatus.REJECTED)
    assert [each["id"] for each in nobody.choice["judged"]] == ["senior.WORKING"]
    assert source.kept.settled == []


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_withdrawal_and_a_choice_end_in_the_order_of_the_inbox(is_first):
    source, mail = await asked(asking(HIGHEST, mode="delegate"), plain_worker)
    reason = {"reason": "the customer found it"}
    gone = Mail(0, "a", WITHDRAWN, withdrawal_of(mail.id, is_choosing=True) | reason, mail.accepted, sender="a")
    for each in (gone, mail) if is_first else (mail, gone):
        await source.take(each)
    if is_first:
        await source.take(source.to_itself("handoff.failed"))
        assert (source.asked, source.settled) == ([], [(UNDECIDED, CANCELLED)])
    else:
        passed_on = next(each for each in source.sent if each.event == WITHDRAWN)
        assert (source.settled, passed_on.recipient) == ([], source.kept.snapshot.handoffs[0].peer)


async def test_mail_that_waits_and_withdraws_is_seen_before_the_choice():
    source, mail = await asked(asking(HIGHEST), plain_worker)
    told = withdrawal_of(mail.id, is_choosing=True) | {"reason": "the customer found it"}
    gone = Mail(0, "a", WITHDRAWN, told, mail.accepted, sender="a")
    state = source.kept
    for each in (mail, gone):
        state.mail.append(MAIL.validate_python(plain(MAIL, each) | {"number": state.number()}))
    source.state = STATE.dump_json(state)
    await source.run("drain")
    assert (source.asked, source.kept.offers) == ([], {mail.id: CANCELLED})


@pytest.mark.parametrize("how", ["stop", "leave"])
async def test_what_is_not_chosen_yet_ends_with_its_state_or_its_source(how):
    source, mail = await asked(asking(HIGHEST), plain_worker)
    leave = {"event": "LEAVE", "payload": {}, "id": None, "life": source.kept.life}
    await source.run(*(("stop",) if how == "stop" else ("send", leave)))
    await source.take(mail)
    assert source.asked == []
    await source.take(source.to_itself(WITHDRAWN))
    if how == "leave":
        await source.take(source.to_itself("handoff.failed"))
    assert source.settled == [(UNDECIDED, CANCELLED)]
    assert not [each for each in source.sent if each.recipient != "a"]


async def test_a_deadline_that_passes_after_the_choice_is_the_targets_to_keep():
    source, mail = await asked(asking(HIGHEST, deadline="1h"), plain_worker)
    own = source.to_itself(WITHDRAWN)
    await source.take(mail)
    late = MAIL.validate_python(plain(MAIL, own) | {"due": None})
    before = list(source.sent)
    await source.take(late)
    assert (source.settled, source.sent, source.kept.mail) == ([], before, [])


class Failing:
    """A function that makes vectors, and fails."""

    def __call__(self, texts):
        raise RuntimeError("the model does not answer")


async def test_a_choice_that_always_fails_matched_nobody_and_says_why():
    by_text = Best(Needs(domains=("refunds",)), order=("text",))
    source, mail = await asked(asking(by_text), plain_worker, senior, choosing=Choosing(embed=Failing()))
    await source.take(mail)
    assert len(source.asked) == QUICK.attempts
    rejected = source.to_itself("handoff.rejected")
    assert rejected.payload["obstacle"] == Obstacle.NO_MATCH.value
    assert "the model does not answer" in rejected.payload["details"]
    await source.take(rejected)
    assert source.kept.snapshot.configuration == ("FAILED",)


async def test_a_projection_that_fails_fails_the_choice_alone():
    class Down(MemoryStore):
        async def held(self):
            raise OSError("the disk is gone")

    source, mail = await asked(asking(HIGHEST), senior, projection=Down())
    await source.take(mail)
    assert "the disk is gone" in source.to_itself("handoff.rejected").payload["details"]


async def test_an_entry_that_is_closed_lets_no_offer_in_and_one_with_a_capacity_asks_for_its_own_place():
    made = config(asking(HIGHEST), plain_worker)
    source, mail = await asked(asking(HIGHEST), plain_worker)
    await source.take(mail)
    (offer,) = (each for each in source.sent if each.event.startswith("handoff.offered."))
    keeper = Object(made, "directory:plain.WORKING")
    terms = {"id": "plain.WORKING", "graph": "plain", "at": "WORKING", "is_local": False, "capacity": 3}
    await keeper.run("begin", {"graph": "gatechart.directory", "at": "REGISTERED", "payload": terms, "framework": True})
    entry = await decide(made, offer.recipient, None, None, "deliver", {"mail": plain(MAIL, offer)})
    assert entry.place == {"graph": "directory:plain.WORKING", "handoff": mail.id, "most": 3}
    life = keeper.kept.life
    told = {"mark": Mark.CLOSED.value, "reason": "stocktaking"}
    await keeper.run("send", {"event": MARK, "payload": told, "id": None, "life": life, "framework": True})
    entry = await decide(made, offer.recipient, None, None, "deliver", {"mail": plain(MAIL, offer)})
    (reply,) = (each["mail"] for each in entry.orders if each["do"] == "deliver")
    assert (reply["event"], reply["payload"]["obstacle"]) == ("handoff.rejected", Obstacle.CLOSED.value)


# On the engine


class Page(AgentContext):
    text: str = ""


async def test_a_large_packet_is_chosen_for_as_a_small_one(restate_place):
    size = 200_000
    letter = StateTransitionGraph(
        "letter",
        context=Page,
        transitions=[Transition("TALKING", "ASK", "WAITING", actions=Handoff(HIGHEST, packet=long_packet(size)))],
        entry_points=["TALKING"],
    )
    async with house(restate_place, letter, plain_worker) as runtime:
        await begun(runtime, "letter")
        row = await only(runtime)
        assert (row.status, len(row.packet["current_problem"]), row.choice["seed"]) == (ACCEPTED, size, row.id)


def long_packet(size):
    return lambda context, event: HandoffPacket(current_problem="x" * size)


async def is_projected(place):
    return bool(await place.projection.handoffs(HandoffQuery()))


async def test_a_withdrawal_that_comes_during_the_choice_reaches_the_target(restate_place, monkeypatch):
    begins, go_on, choose = asyncio.Event(), asyncio.Event(), ServiceChooser.choose

    async def held_up(self, *given):
        begins.set()
        await go_on.wait()
        return await choose(self, *given)

    monkeypatch.setattr(ServiceChooser, "choose", held_up)
    async with house(restate_place, asking(HIGHEST, mode="delegate"), plain_worker) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        await rest(runtime)  # so that the next turn is projected at once
        await agent.send("ASK")
        await begins.wait()
        await eventually(partial(is_projected, restate_place))
        (row,) = await restate_place.projection.handoffs(HandoffQuery())
        assert (row.status, row.target) == (UNDECIDED, agent.id)
        await RestateRuntime.cancel_handoff(runtime, row.id, reason="the customer found it")
        go_on.set()
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("FAILED",), [CANCELLED])


async def test_many_at_once_overbook_nobody(restate_place):
    few = worker("few", accepts=Accepts(capacity=5), profile=Profile(domains=("refunds",), tier=3))
    async with house(restate_place, asking(HIGHEST), few) as runtime:
        agents = [await runtime.start("asking", at="TALKING") for _ in range(30)]
        await asyncio.gather(*(each.send("ASK") for each in agents))
        await rest(runtime)
        rows = await runtime.handoffs(limit=1000)
        taken = [each for each in rows if each.status is ACCEPTED]
        assert len(taken) == 5
        assert sum(each.configuration == ("FAILED",) for each in agents) == 25
        assert all(each.choice for each in rows)
        await (await target_of(runtime, next(each for each in agents if each.status is Status.DONE))).send("DONE")
        await rest(runtime)
        again = await begun(runtime)
        assert again.status is Status.DONE


class Never:
    """A chooser that thinks for ever."""

    def __init__(self):
        self.begun = asyncio.Event()

    async def choose(self, packet, now):
        self.begun.set()
        await asyncio.Event().wait()


async def test_a_handoff_that_waits_for_its_choice_moves_along_and_is_chosen_there(engine, tmp_path, sqlite_url):
    graphs = [asking(HIGHEST, mode="delegate", deadline="1h"), plain_worker, senior]
    async with Runtime.open(sqlite_url, graphs=graphs, limits=Limits(close_s=0.1)) as runtime:
        core_of(runtime).chooser = never = Never()
        agent = await runtime.start("asking", at="TALKING")
        await agent.send("ASK")
        await never.begun.wait()
        (before,) = await runtime.handoffs()
    assert before.status is UNDECIDED
    async with home(engine, tmp_path, served=graphs) as (namespace, _, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            await eventually(partial(is_accepted, runtime))
            (row,) = await runtime.handoffs()
            moved = await runtime.resume(agent.id)
            assert [each.recipient for each in moved.snapshot.handoffs] == ["senior.WORKING"]
    assert (row.id, row.target_graph, row.choice["seed"]) == (before.id, "senior", before.id)
    assert [each.status for each in row.changes] == [UNDECIDED, HandoffStatus.PENDING, ACCEPTED]


async def is_accepted(runtime):
    return [each.status for each in await runtime.handoffs()] == [ACCEPTED]
