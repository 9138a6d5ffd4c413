"""A service killed at each point of a loop, or as a way out is taken: what was recorded stays, and counts once."""

import asyncio
import json
import signal
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from gatechart.restate import RestateRuntime
from gatechart.stores import open_store
from gatechart.values.handoffs import HandoffQuery
from gatechart.values.homes import Role
from tests.crash.choosing_agents import MOST, check_choices
from tests.crash.noticing_agents import check_noticed
from tests.crash.talking_agents import check_talk
from tests.crash.undoing_agents import lines
from tests.forked import fork
from tests.ports import free_ports
from tests.restate.conftest import there_or_skipped
from tests.restate.doomed_service import ESCAPING, GRAPHS
from tests.restate.engines import eventually
from tests.restate.handing_agents import check_handed, projection_in
from tests.restate.journal_points import OF_ATTEMPTS, OF_CHOICES, OF_ENTRIES, OF_INVOKES, OF_TURNS
from tests.restate.services import registered

pytestmark = pytest.mark.on_sqlite_too

WAYS = {
    "talking": ("THINKING", "DONE", "FAILED"),
    "choosing": ("CHECKING", "WRITING"),
    "noticing": ("SEARCHING", "FOUND"),
    "handing": ("TALKING", "HELPED", "FAILED"),
    **{name: ("PAYING", "PAID", way.ends_in) for name, way in ESCAPING.items()},
}
"""Of each graph a beginning, and its ends. Where an agent is PAID, it is told to go on."""
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _ends():
    """Each agent has an end of its own here."""


class Home:
    """An engine, and one service at one address: in one process after the other."""

    def __init__(self, engine, folder):
        self.engine, self._folder = engine, folder
        (self._port,) = free_ports(1)
        self.address = f"http://127.0.0.1:{self._port}"
        self.runtime = None

    @asynccontextmanager
    async def process(self, folder, point="nowhere", nth=0):
        """Serve inside the block in a process. Yields a task that ends with the process; by then it has ended."""
        given = (self._port, self.engine.ingress, folder / "points", point, nth)
        with (
            (folder / "log").open("a") as log,
            fork("tests.restate.doomed_service:main", *given, stderr=log) as process,
        ):
            ended = asyncio.create_task(asyncio.to_thread(process.wait))
            try:
                yield ended
                process.terminate()
                code = await ended
                assert code in (0, -signal.SIGKILL), (folder / "log").read_text()[-4000:]
            finally:
                process.kill()
                await ended

    async def lived(self, graph, agent_id):
        """Return the agent once it has come to an end."""
        begins, *ends = WAYS[graph]
        agent = await self.runtime.start_or_resume(graph, at=begins, agent_id=agent_id)
        while (await agent.until(*ends, timeout=PATIENCE_S)).configuration == ("PAID",):
            await agent.send("GO")
        if "desk" in repr(ESCAPING.get(graph)):
            await agent.until(ended=True, timeout=PATIENCE_S)
        if graph in ESCAPING:
            alerts = self._folder / agent_id / "alerts"
            await eventually(lambda: asyncio.sleep(0.01, len(lines(alerts)) >= ESCAPING[graph].alerts))
        if graph not in ("talking", "choosing", "noticing"):
            await self.runtime.caught_up(agent_id)
        return await self.runtime.resume(agent_id)

    async def passed(self, graph):
        """How often an agent that nothing disturbs comes to each point."""
        folder = self._folder / graph
        folder.mkdir()
        async with self.process(folder):
            await self.lived(graph, folder.name)
        return json.loads((folder / "points").read_text())

    async def killed_at(self, graph, point, *nths, with_engine=False):
        """Return the agent whose service died at the point again and again, its folder, and how often something died.

        nths: for each process, how often the agent came to the point in it by then.
        """
        folder, deaths = self._folder / f"{graph} {point} {nths} {with_engine}", 0
        folder.mkdir()
        living = asyncio.create_task(self.lived(graph, folder.name))
        for nth in nths:
            async with self.process(folder, point, nth) as ended:
                await asyncio.wait((living, ended), return_when=asyncio.FIRST_COMPLETED)
                deaths += ended.done()
            if with_engine:
                await self.engine_again()
                deaths += 1
        if not living.done():  # else the process would be told to end before it can take a signal
            async with self.process(folder) as ended:
                await asyncio.wait((living, ended), return_when=asyncio.FIRST_COMPLETED)
                assert living.done(), (folder / "log").read_text()[-4000:]
        return await living, folder, deaths

    async def engine_killed_after(self, *turns):
        """Return the agent whose engine was killed after each of these turns' first calls, and its folder."""
        folder = self._folder / f"engine {turns}"
        folder.mkdir()
        async with self.process(folder):
            living, calls = asyncio.create_task(self.lived("talking", folder.name)), folder / "calls"
            for turn in turns:
                await eventually(
                    lambda turn=turn: asyncio.sleep(0.01, calls.exists() and f" {turn}\n" in calls.read_text())
                )
                await self.engine_again()
            return await living, folder

    async def engine_again(self):
        """Kill the engine, and begin it again."""
        await asyncio.to_thread(self.engine.kill)
        await asyncio.to_thread(self.engine.begin)


@pytest.fixture
async def home(tmp_path):
    with there_or_skipped(tmp_path) as engine:
        made = Home(engine, tmp_path)
        (tmp_path / "first").mkdir()
        async with made.process(tmp_path / "first"):
            await registered(engine, made)
        async with RestateRuntime.open(engine.ingress, graphs=GRAPHS.values(), patience_s=PATIENCE_S) as runtime:
            made.runtime = runtime
            yield made


async def killed_in_talks(home, points, step, **more):
    """Kill the service at every STEP-th time that its agent comes to one of the points. Return how often it died."""
    passed, kills = Counter(await home.passed("talking")), 0
    for point in points:
        for nth in range((step + 1) // 2, passed[point] + 1, step):
            agent, folder, deaths = await home.killed_at("talking", point, nth, **more)
            check_talk(agent, folder, deaths)
            kills += deaths
    return kills


async def test_a_loop_whose_service_is_killed_goes_on_where_its_transcript_ends(home):
    assert await killed_in_talks(home, OF_INVOKES, step=40) >= len(OF_INVOKES)


async def test_a_loop_whose_service_is_killed_again_and_again_does_nothing_twice_that_was_recorded(home):
    agent, folder, deaths = await home.killed_at("talking", "report made", 12, 12, 12)
    check_talk(agent, folder, deaths)
    assert deaths == 3


async def test_a_loop_goes_on_when_engine_and_service_are_killed(home):
    assert await killed_in_talks(home, ("report made",), step=50, with_engine=True) >= 2


async def test_a_loop_goes_on_when_the_engine_alone_is_killed_again_and_again(home):
    agent, folder = await home.engine_killed_after(2, 5, 8)
    check_talk(agent, folder, deaths=3)


@pytest.mark.slow
@pytest.mark.parametrize("point", OF_INVOKES + OF_ENTRIES + OF_TURNS)
async def test_a_loop_goes_on_from_every_point_at_which_its_service_is_killed(home, point):
    assert await killed_in_talks(home, (point,), step=1) >= (2 if point in OF_TURNS else 60)


@pytest.mark.slow
@pytest.mark.parametrize("point", OF_INVOKES)
async def test_a_loop_goes_on_from_points_at_which_engine_and_service_are_killed(home, point):
    assert await killed_in_talks(home, (point,), step=9, with_engine=True) >= 14


# Choices


async def killed_in_choices(home, *kills):
    """Kill the service each time that its agent comes to a point so often; the choices count once all the same."""
    for point, nth in kills:
        agent, _, deaths = await home.killed_at("choosing", point, nth)
        check_choices(agent)
        assert deaths == 1


async def test_a_choice_counts_once_if_the_service_is_killed_before_or_after_its_turn(home):
    await killed_in_choices(home, ("before choice", 1), ("turn decided", 2), ("turn carried out", 2))


@pytest.mark.slow
async def test_a_choice_counts_once_wherever_the_service_is_killed(home):
    passed = await home.passed("choosing")
    assert passed["before choice"] == MOST
    points = ("before choice", *OF_INVOKES, *OF_TURNS)
    await killed_in_choices(home, *((point, nth) for point in points for nth in range(1, passed[point] + 1)))


# Signals


async def killed_in_searches(home, points, step):
    """Kill the service at every STEP-th time that its agent comes to one of the points. Return how often it died."""
    passed, kills = Counter(await home.passed("noticing")), 0
    for point in points:
        for nth in range((step + 1) // 2, passed[point] + 1, step):
            agent, folder, deaths = await home.killed_at("noticing", point, nth)
            check_noticed(agent, folder, deaths)
            kills += deaths
    return kills


async def test_a_signal_fires_once_and_at_the_same_call_if_the_service_is_killed(home):
    assert await killed_in_searches(home, OF_INVOKES + OF_TURNS, step=5) >= len(OF_INVOKES)


@pytest.mark.slow
async def test_a_signal_fires_once_wherever_the_service_is_killed(home):
    assert await killed_in_searches(home, OF_INVOKES + OF_ENTRIES + OF_TURNS, step=1) > 20


# Targets that are chosen


async def killed_in_handoffs(home, *kills):
    """Kill the service each time that its agents come to a point so often. Return how often each chose."""
    counts = []
    for point, nth in kills:
        agent, folder, deaths = await home.killed_at("handing", point, nth)
        counts.append(await check_handed(agent, folder))
        assert deaths == 1
    return counts


async def test_a_target_is_chosen_again_before_the_choice_is_recorded_and_never_after(home):
    assert await killed_in_handoffs(home, ("choice made", 1), ("choice journaled", 1)) == [2, 1]


@pytest.mark.slow
async def test_a_target_is_chosen_once_wherever_the_service_is_killed_elsewhere(home):
    passed = await home.passed("handing")
    assert [passed[each] for each in OF_CHOICES] == [1, 1]
    kills = [(point, nth) for point in OF_TURNS for nth in range(1, passed[point] + 1)]
    counts = await killed_in_handoffs(home, *kills)
    assert counts == [1] * len(kills)


async def check_escaped(agent, folder, way):
    """Check that each way was tried once, that nothing was paid twice, and that nothing left out was told."""
    async with open_store(projection_in(folder), role=Role.READER) as store:
        assert len(await store.handoffs(HandoffQuery())) == ("desk" in repr(way.strategies))
    escapes = agent.snapshot.trail.escapes
    assert agent.configuration == (way.ends_in,)
    assert [each.strategy for each in escapes.tried] == way.tried
    assert [each.number for each in escapes.tried] == [*range(1, escapes.count + 1)]
    assert escapes.today == escapes.count
    assert (len(lines(folder / "paid")), len(lines(folder / "charged"))) == (1, way.charges)
    assert set(lines(folder / "told")) == way.told
    assert len(set(lines(folder / "repairs"))) == (way.name == "repair")
    assert len(set(lines(folder / "alerts"))) == way.alerts


async def killed_in_escapes(home, *names):
    """Kill the service as agents take ways out: as the turn is decided, and as it was carried out."""
    for name in names:
        for point in OF_ATTEMPTS:
            agent, folder, deaths = await home.killed_at(name, point, 1)
            await check_escaped(agent, folder, ESCAPING[name])
            assert deaths == 1


async def test_a_way_out_is_tried_once_if_the_service_dies_as_it_is_taken(home):
    await killed_in_escapes(home, "escaping_rollback_over_a_payment")


@pytest.mark.slow
async def test_every_way_out_is_tried_once_if_the_service_dies_as_it_is_taken(home):
    await killed_in_escapes(home, *ESCAPING)
