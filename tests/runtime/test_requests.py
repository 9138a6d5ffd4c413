"""What others ask of the runtime that owns the database: it is carried out once, and answered."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Handoff, Limits, Runtime
from gatechart.api.agents import StartCommand
from gatechart.api.codec import SNAPSHOT
from gatechart.api.errors import read_reply
from gatechart.clients.database import open_database_client
from gatechart.errors import (
    AgentExistsError,
    AnswerUnreadableError,
    NoInvokeError,
    OwnerGoneError,
    OwnershipLostError,
    PayloadError,
    RequestLateError,
    RequestTimeoutError,
    ReservedEventError,
    StoreFailedError,
    StoreUnreachableError,
    UnknownAgentError,
    UnknownGraphError,
)
from gatechart.results import Origin
from gatechart.stores import MemoryStore, open_store
from gatechart.stores.memory_requests import MemoryRequests
from gatechart.stores.opening import open_asking
from gatechart.stores.sql.requests import SqlRequests
from gatechart.testing.records import NOON
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from gatechart.values.queries import Request
from tests.api.charts import lamp, shade
from tests.homes import DATABASE_URLS
from tests.runtime.reserved_names import RESERVED

pytestmark = pytest.mark.one_variant_is_enough

GRAPHS = (lamp, shade)


@pytest.fixture
async def owner(place):
    async with Runtime.open(place, graphs=GRAPHS) as runtime:
        yield runtime


@pytest.fixture
async def asker(owner, place):
    async with open_database_client(place, graphs=GRAPHS) as asker:
        yield asker


@pytest.mark.needs("takes_a_clock")
async def test_who_does_not_own_the_database_starts_feeds_and_reads_agents(owner, asker):
    begun = (await asker.start("lamp", at="ON", agent_id="a")).snapshot
    sent = await asker.send("a", "SWITCHED", {"text": "off"}, event_id="1")
    again = await asker.send("a", "SWITCHED", {"text": "off"}, event_id="1")
    posted = await asker.post("a", "SWITCHED", due=NOON.replace(year=9000))
    assert (begun.version, sent.configuration, again) == (1, ("OFF",), sent.repeated())
    assert (await owner.resume("a")).snapshot == await asker.read("a")
    assert [mail.number for mail in await asker.mail("a")] == [posted.number]


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_a_refused_event_is_tried_once_and_frees_its_id(asker):
    await asker.start("lamp", at="OFF", payload={}, agent_id="a")
    refused = await asker.send("a", "SHATTERED", event_id="1")
    await asker.send("a", "SWITCHED")
    applied = await asker.send("a", "SHATTERED", event_id="1")
    assert (refused.applied, applied.applied, applied.repeat) == (False, True, False)
    assert list(await asker.mail(status=MailStatus.REFUSED)) == []


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_what_the_owner_raises_is_raised_to_who_asked(asker):
    await asker.start("lamp", at="ON", agent_id="a")
    with pytest.raises(AgentExistsError):
        await asker.start("lamp", at="ON", agent_id="a")
    with pytest.raises(UnknownAgentError) as raised:
        await asker.send("nobody", "SWITCHED")
    with pytest.raises(UnknownGraphError):
        await asker.start("lantern", at="ON")
    assert raised.value.agent_id == "nobody"


@pytest.mark.needs("takes_a_clock")
async def test_who_asks_through_the_database_cannot_speak_for_the_framework(owner, asker, place):
    await asker.start("lamp", at="ON", agent_id="a")
    for name in RESERVED:
        for ask in (asker.send, asker.post):
            with pytest.raises(ReservedEventError):
                await ask("a", name)
    async with open_asking(place) as asking:
        for verb in ("send", "post"):  # written into the table by a program that checks nothing
            call = f'{{"verb":"{verb}","to":"a","event":"done.invoke.scan"}}'
            number = await asking.ask(Request(verb, "ana", call, NOON.replace(year=9000)))
            while (answer := await asking.answer_to(number)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert '"error":"ReservedEventError"' in answer
    assert ((await asker.read("a")).version, [*await asker.mail("a")]) == (1, [])


@pytest.mark.needs("takes_a_clock")
async def test_an_operator_asks_through_the_database(owner, asker):
    await asker.start("lamp", at="ON", agent_id="a")
    posted = await asker.post("a", "SWITCHED", due=NOON.replace(year=9000))
    await asker.fire_timer(posted.number, reason="it is dark already")
    agent = await owner.resume("a")
    await agent.until("OFF")
    *_, last = await asker.history("a")
    assert (last.event.origin, last.event.operator_reason) == (Origin.OPERATOR, "it is dark already")
    with pytest.raises(NoInvokeError):
        await asker.end_invoke("a", "scan", reason="by hand")


@pytest.mark.needs("takes_a_clock")
async def test_a_call_of_a_newer_gatechart_is_answered_with_an_error(owner, place):
    async with open_asking(place) as asking:
        number = await asking.ask(Request("r", "ana", '{"verb":"dance"}', NOON.replace(year=9000)))
        while (answer := await asking.answer_to(number)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert '"error":"PayloadError"' in answer
    assert "a call that this gatechart knows" in str(PayloadError("", (), "a call that this gatechart knows"))


@pytest.mark.needs("takes_a_clock")
async def test_what_one_asks_is_carried_out_in_order_and_others_do_not_wait(owner, asker, place):
    await asker.start("lamp", at="ON", agent_id="a")
    async with open_asking(place) as asking:
        late = NOON.replace(year=9000)
        for count in range(20):
            call = f'{{"verb":"send","to":"a","event":"SWITCHED","payload":{{"text":"{count}"}}}}'
            last = await asking.ask(Request(f"r-{count}", "ana", call, late))
        assert (await asker.start("lamp", at="ON", agent_id="b")).snapshot.version == 1
        while await asking.answer_to(last) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    turns = (await asker.history("a"))[1:]
    assert [turn.event.payload["text"] for turn in turns] == list(map(str, range(20)))
    assert [turn.event.id for turn in turns] == [f"r-{count}" for count in range(20)]


@asynccontextmanager
async def silent(place, monkeypatch):
    """An owner that carries out what it is asked, and dies before it has answered."""
    reached = asyncio.Event()

    async def hang(*_):
        reached.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(SqlRequests, "answer", hang)
        patch.setattr(MemoryRequests, "answer", hang)
        async with Runtime.open(place, graphs=GRAPHS, limits=Limits(close_s=0.02)) as runtime:
            yield runtime, reached


COMMANDS = {
    "start": lambda asker: asker.start("lamp", at="ON", payload={}),
    "start with an id": lambda asker: asker.start("lamp", at="ON", agent_id="new"),
    "start on": lambda asker: asker.start_on("DUSK", {"text": "x"}),
    "send": lambda asker: asker.send("a", "SWITCHED"),
    "send with an id": lambda asker: asker.send("a", "SWITCHED", event_id="1"),
    "post": lambda asker: asker.post("a", "SWITCHED"),
    "post with an id": lambda asker: asker.post("a", "SWITCHED", event_id="1"),
    "stop": lambda asker: asker.stop("a"),
    "rollback": lambda asker: asker.rollback("a", 1, reason="again"),
    "handoff": lambda asker: asker.handoff("a", Handoff("shade", at="UP", mode="delegate")),
    "cancel": lambda asker: asker.cancel_handoff("h", reason="never mind"),
}


def asking_of(asker):
    """What a client of a database asks its owner with."""
    return asker._asking


async def told(place):
    """Every turn of every agent, every handoff and all mail."""
    async with Runtime.open(place, graphs=GRAPHS, role=Role.READER) as reader:
        agents = (await reader.find()).agents
        turns = [
            (each.agent_id, entry.version, entry.event)
            for each in agents
            for entry in await reader.history(each.agent_id)
        ]
        return turns, [(each.id, each.status) for each in await reader.handoffs()], await reader.mail()


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("verb", COMMANDS)
async def test_what_was_done_and_not_answered_is_answered_by_the_next_owner_and_not_done_again(
    verb, place, monkeypatch
):
    async with Runtime.open(place, graphs=GRAPHS) as runtime:
        await runtime.start("lamp", at="ON", agent_id="a")
        if verb == "cancel":
            handoff = await runtime.handoff("a", Handoff("shade", at="UP", mode="delegate"))
            await standing(runtime, HandoffStatus.ACCEPTED)
    async with silent(place, monkeypatch) as (runtime, reached):
        opening = open_database_client(place, graphs=GRAPHS)
        asker = await opening.__aenter__()
        monkeypatch.setattr(asking_of(asker), "is_owned", somebody)
        call = COMMANDS[verb](asker) if verb != "cancel" else asker.cancel_handoff(handoff, reason="never mind")
        asking = asyncio.ensure_future(call)
        await reached.wait()
        if verb in ("handoff", "cancel"):
            await standing(runtime, HandoffStatus.ACCEPTED if verb == "handoff" else HandoffStatus.CANCELLED)
        if verb.startswith("post"):
            while (await runtime.resume("a")).snapshot.version == 1:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    before = await told(place)
    async with Runtime.open(place, graphs=GRAPHS):
        answer = await asking
        await opening.__aexit__(None, None, None)
    assert await told(place) == before
    assert getattr(answer, "repeat", False) == (verb in ("send with an id", "post with an id"))


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("late", [timedelta(seconds=5), timedelta(days=3)], ids=["soon", "late"])
async def test_what_an_owner_had_begun_that_is_gone_is_not_carried_out_long_after_its_time(late, place):
    until = datetime.now(UTC) - late
    call = '{"verb":"start","graph":"lamp","at":"ON","agent_id":"a"}'
    async with open_store(place) as store, open_asking(place) as asking:
        number = await asking.ask(Request("r-1", "ana", call, until))
        assert [each.number for each in await store.requests.take(until, limit=9)] == [number]
    async with Runtime.open(place, graphs=GRAPHS) as runtime, open_asking(place) as asking:
        async with asyncio.timeout(60):
            while (answer := await asking.answer_to(number)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        begun = [agent.agent_id for agent in (await runtime.find()).agents]
        if late.days:
            with pytest.raises(RequestLateError) as raised:
                read_reply(answer).value(SNAPSHOT)
            assert (begun, raised.value.request, round(raised.value.late_s / 86400)) == ([], "r-1", 3)
            with pytest.raises(RequestLateError):  # nor where somebody comes back to it
                async with open_database_client(place, graphs=GRAPHS, request="r-1") as asker:
                    await asker.start("lamp", at="ON", agent_id="a")
        else:
            assert begun == ["a"]


@pytest.mark.needs("takes_a_clock")
async def test_an_answer_that_comes_while_a_request_is_withdrawn_is_told(owner, asker, monkeypatch):
    asking, may_come, over = asking_of(asker), asyncio.Event(), asyncio.Event()
    answer_to, withdraw = asking.answer_to, asking.withdraw

    async def at_last(number):
        return await answer_to(number) if may_come.is_set() else None

    async def meanwhile(number):
        while await answer_to(number) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        may_come.set()
        return await withdraw(number)

    monkeypatch.setattr(asking, "answer_to", at_last)
    monkeypatch.setattr(asking, "withdraw", meanwhile)
    call = StartCommand(graph="lamp", at="ON", agent_id="a")
    request = Request("r-1", "ana", call.model_dump_json(), NOON.replace(year=9000))
    over.set()  # the time is over as soon as it is asked
    text = await asker._answered(await asking.ask(request), request, call, over)
    assert read_reply(text).value(SNAPSHOT).agent_id == "a"


async def standing(runtime, status):
    """Waits for the one handoff to be so, and for all who have to do with it to know."""
    while [each.status for each in await runtime.handoffs()] != [status] or await runtime.mail():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


ODD_ANSWERS = ['{"answer":{"agent_id":"a"}}', '{"answer":' + "[" * 300 + "]" * 300 + "}", '{"error":{}}', "{}", "done"]


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("odd", ODD_ANSWERS, ids=["fields", "depth", "error", "empty", "text"])
async def test_an_answer_that_is_not_understood_is_an_error_of_gatechart(odd, place, monkeypatch):
    for room in (SqlRequests, MemoryRequests):
        monkeypatch.setattr(room, "answer", answering(odd, room.answer))
    async with Runtime.open(place, graphs=GRAPHS) as owner, open_database_client(place, graphs=GRAPHS) as asker:
        with pytest.raises(AnswerUnreadableError, match="the same version"):
            await asker.start("lamp", at="ON", agent_id="a")
        assert (await owner.resume("a")).snapshot.version == 1


def answering(odd, answer):
    return lambda self, number, _text, now: answer(self, number, odd, now)


@pytest.mark.needs("takes_a_clock")
async def test_nothing_of_an_erased_agent_stays_in_what_was_answered(place):
    late = NOON.replace(year=9000)
    calls = [
        '{"verb":"start","graph":"lamp","at":"OFF","agent_id":"a","payload":{"text":"my secret"}}',
        '{"verb":"send","to":"a","event":"SWITCHED","payload":{"text":"another secret"}}',
        '{"verb":"start","graph":"lamp","at":"OFF","agent_id":"b","payload":{"text":"of b"}}',
    ]
    async with Runtime.open(place, graphs=GRAPHS) as runtime, open_asking(place) as asking:
        numbers = [await asking.ask(Request(f"r-{n}", "ana", call, late)) for n, call in enumerate(calls)]
        while None in [await asking.answer_to(each) for each in numbers]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert "secret" in await asking.answer_to(numbers[0])
        await runtime.erase("a")
        told = [await asking.answer_to(each) for each in numbers]
        assert (told[:2], "of b" in told[2]) == (["{}", "{}"], True)
        assert not await asking.withdraw(numbers[0])  # it was done, and nobody is told that it was not
    if str(place).startswith("sqlite"):
        assert "secret" not in calls_of(place)


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("word", ["active", "OFF", "answer", "b-event", "lamp", "start"])
async def test_an_erased_agent_that_is_called_like_a_common_word_takes_no_answers_of_others_along(place, word):
    late = NOON.replace(year=9000)
    calls = [
        '{"verb":"start","graph":"lamp","at":"OFF","agent_id":"b","payload":{"text":"of b"}}',
        '{"verb":"send","to":"b","event":"SWITCHED","payload":{"text":"active"},"event_id":"b-event"}',
        f'{{"verb":"start","graph":"lamp","at":"OFF","agent_id":"{word}","payload":{{"text":"my secret"}}}}',
        f'{{"verb":"start","graph":"lamp","at":"OFF","idempotency_key":"{word}"}}',
        f'{{"verb":"rollback","agent_id":"{word}","version":7,"reason":"a secret"}}',
    ]
    async with Runtime.open(place, graphs=GRAPHS) as runtime, open_asking(place) as asking:
        numbers = [await asking.ask(Request(f"r-{n}", "ana", call, late)) for n, call in enumerate(calls)]
        while None in [await asking.answer_to(each) for each in numbers]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        before = [await asking.answer_to(each) for each in numbers]
        assert all(f'"{word}"' in text for text in before[2:])
        await runtime.erase(word)
        assert [await asking.answer_to(each) for each in numbers] == [*before[:2], "{}", "{}", "{}"]


def calls_of(url):
    with closing(sqlite3.connect(str(url).partition("///")[2])) as connection:
        return " ".join(call for (call,) in connection.execute("SELECT call FROM requests"))


async def nobody():
    return False


async def somebody():
    return True


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_what_an_owner_that_is_gone_has_not_taken_is_withdrawn(place, monkeypatch):
    async with Runtime.open(place, graphs=GRAPHS, role=Role.VISITOR):
        opening = open_database_client(place, graphs=GRAPHS)
        asker = await opening.__aenter__()
        monkeypatch.setattr(asking_of(asker), "is_owned", nobody)
        with pytest.raises(OwnerGoneError) as raised:
            await asker.start("lamp", at="ON", agent_id="a")
        await opening.__aexit__(None, None, None)
    assert raised.value.withdrawn
    assert (await told(place))[0] == []


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_who_has_waited_long_enough_withdraws_and_is_told_so(place):
    visitor = Runtime.open(place, graphs=GRAPHS, role=Role.VISITOR)
    async with visitor, open_database_client(place, graphs=GRAPHS, timeout_s=0.05) as asker:
        with pytest.raises(RequestTimeoutError, match="was withdrawn, and nothing was done") as raised:
            await asker.start("lamp", at="ON", agent_id="a")
    assert (raised.value.withdrawn, raised.value.verb) == (True, "start")
    async with Runtime.open(place, graphs=GRAPHS) as runtime:
        with pytest.raises(UnknownAgentError):
            await runtime.resume("a")


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_what_has_begun_is_not_withdrawn_and_who_asked_is_told_so(place, monkeypatch):
    opening = open_database_client(place, graphs=GRAPHS, timeout_s=2.0)
    async with silent(place, monkeypatch) as (runtime, reached), opening as asker:
        asking = asyncio.ensure_future(asker.start("lamp", at="ON", agent_id="a"))
        await reached.wait()
        with pytest.raises(RequestTimeoutError, match="the owner has started") as raised:
            await asking
        assert not raised.value.withdrawn
        assert (await runtime.resume("a")).snapshot.version == 1


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("has_begun", [False, True])
async def test_who_stops_waiting_withdraws_what_has_not_begun(has_begun, place, monkeypatch):
    withdrawn = []
    opening = open_database_client(place, graphs=GRAPHS, given_up=withdrawn.append)
    async with silent(place, monkeypatch) as (_, reached), opening as asker:
        if not has_begun:
            monkeypatch.setattr(SqlRequests, "take", nothing)
            monkeypatch.setattr(MemoryRequests, "take", nothing)
        asking = asyncio.ensure_future(asker.start("lamp", at="ON"))
        await (reached.wait() if has_begun else asyncio.sleep(0.05))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert withdrawn == [not has_begun]


async def nothing(*_, **__):
    await asyncio.sleep(0.01)
    return ()


@pytest.mark.needs("takes_a_clock")
async def test_a_request_whose_asker_is_gone_is_carried_out_until_its_time_is_over(place):
    async with Runtime.open(place, graphs=GRAPHS, role=Role.VISITOR), open_asking(place) as asking:
        for name, year in (("late", 9000), ("over", 2000)):
            call = f'{{"verb":"start","graph":"lamp","at":"ON","agent_id":"{name}"}}'
            await asking.ask(Request(name, "ana", call, NOON.replace(year=year)))
    async with Runtime.open(place, graphs=GRAPHS) as runtime:
        while not (found := (await runtime.find()).agents):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert [agent.agent_id for agent in found] == ["late"]


@pytest.mark.needs("takes_a_clock")
async def test_requests_are_taken_whatever_clock_the_runtime_has_and_do_not_count_as_under_way(place):
    from gatechart.testing import VirtualClock

    async with Runtime.open(place, graphs=GRAPHS, clock=VirtualClock(NOON)) as runtime:
        await asyncio.sleep(0.02)
        assert runtime.pending_work == 0
        async with open_database_client(place, graphs=GRAPHS) as asker:
            assert (await asker.start("lamp", at="ON")).snapshot.version == 1
        assert (await asker_history(runtime)) == [NOON]


@pytest.mark.parametrize("url", DATABASE_URLS)
async def test_a_runtime_learns_that_it_was_taken_over_from_though_nobody_asks_it_anything(url, request, caplog):
    place = request.getfixturevalue(url)
    async with Runtime.open(place, graphs=GRAPHS) as runtime:
        lost = asyncio.ensure_future(runtime.ownership_lost())
        async with Runtime.open(place, graphs=GRAPHS, role=Role.TAKE_OVER) as taker:
            async with asyncio.timeout(60):
                assert (await lost).current == 2
            with pytest.raises(OwnershipLostError):
                await runtime.start("lamp", at="ON")
            assert (await taker.start("lamp", at="ON")).snapshot.version == 1
    assert caplog.text.count("another owner has taken over; this process no longer hosts any agent") == 1


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("error", [StoreFailedError("agents.db", "cut"), LookupError("of the driver")])
async def test_what_was_taken_in_a_commit_in_doubt_is_carried_out_once(error, place, monkeypatch):
    """The commit is done, and its answer is lost."""
    monkeypatch.setattr("gatechart.runtime.requests.PAUSE_S", 0.01)
    fails = True
    taking = {kind: kind.take for kind in (SqlRequests, MemoryRequests)}

    async def take(self, now, *, limit, again=False):
        nonlocal fails
        taken = await taking[type(self)](self, now, limit=limit, again=again)
        if not again and fails:
            fails = False
            raise error
        return taken

    async with (
        Runtime.open(place, graphs=GRAPHS) as owner,
        open_database_client(place, graphs=GRAPHS, timeout_s=20) as asker,
    ):
        await owner.start("lamp", at="ON", agent_id="a")
        for kind in taking:
            monkeypatch.setattr(kind, "take", take)
        assert (await asker.send("a", "SWITCHED")).version == 2
        await asyncio.gather(*(asker.send("a", "SWITCHED") for _ in range(5)))
        assert len(await asker.history("a")) == 7
        assert not fails


DOWN = StoreUnreachableError("agents.db", "down")


def failing(monkeypatch, asker, times, *names):
    """Lets calls of what the asker asks with fail so many times, behind what they do."""
    for name in names:
        left, real = [times], getattr(asking_of(asker), name)

        async def call(*given, left=left, real=real):
            done = await real(*given)
            left[0] -= 1
            if left[0] >= 0:
                raise DOWN
            return done

        monkeypatch.setattr(asking_of(asker), name, call)


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_who_asks_outlasts_a_database_that_cannot_be_reached_for_a_while(owner, asker, monkeypatch):
    """Whether the request is kept is in doubt, too; it is carried out once."""
    await owner.start("lamp", at="ON", agent_id="a")
    failing(monkeypatch, asker, 3, "ask", "answer_to", "is_owned")
    assert (await asker.send("a", "SWITCHED")).version == 2
    assert len(await owner.history("a")) == 2


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_what_was_answered_is_told_though_forgetting_it_fails(owner, asker, monkeypatch):
    await owner.start("lamp", at="ON", agent_id="a")
    failing(monkeypatch, asker, 1, "forget")
    assert (await asker.send("a", "SWITCHED")).version == 2


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("name", ["ask", "withdraw"])
async def test_who_cannot_tell_what_became_of_a_request_says_so_and_names_it(name, place, monkeypatch):
    visitor = Runtime.open(place, graphs=GRAPHS, role=Role.VISITOR)
    async with visitor, open_database_client(place, graphs=GRAPHS, timeout_s=0.2, request="r-1") as asker:
        failing(monkeypatch, asker, 2**62, name)
        with pytest.raises(RequestTimeoutError, match=r"it is unknown whether the request 'r-1' .*down") as raised:
            await asker.start("lamp", at="ON", agent_id="a")
    assert (raised.value.withdrawn, raised.value.request) == (None, "r-1")


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
@pytest.mark.parametrize("name", ["ask", "withdraw"])
async def test_who_stops_waiting_for_a_database_that_cannot_be_reached_is_cancelled_all_the_same(
    name, place, monkeypatch
):
    withdrawn = []
    visitor = Runtime.open(place, graphs=GRAPHS, role=Role.VISITOR)
    async with visitor, open_database_client(place, graphs=GRAPHS, given_up=withdrawn.append) as asker:
        failing(monkeypatch, asker, 2**62, name)
        asking = asyncio.ensure_future(asker.start("lamp", at="ON"))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert withdrawn == [None]


async def asker_history(runtime):
    (agent,) = (await runtime.find()).agents
    return [turn.event.time for turn in await runtime.history(agent.agent_id)]


@pytest.mark.not_on_restate("nobody owns a database, and nobody has to ask whoever does")
async def test_many_ask_at_once_and_each_gets_its_own_answer(place):
    async with Runtime.open(place, graphs=GRAPHS):
        async with (
            open_database_client(place, graphs=GRAPHS) as one,
            open_database_client(place, graphs=GRAPHS) as other,
        ):
            started = await asyncio.gather(
                *(
                    asker.start("lamp", at="ON", agent_id=f"{name}-{count}")
                    for count in range(20)
                    for name, asker in (("x", one), ("y", other))
                )
            )
        assert sorted(each.id for each in started) == sorted(f"{n}-{c}" for n in "xy" for c in range(20))
        if isinstance(place, MemoryStore):
            assert place.requests._asked == {}
