"""A runtime beside a simple model of it: whatever is asked of both, in whatever order, they agree.

The model keeps lists; it knows no tasks, no transactions and no recovery. Time is a virtual clock, what is invoked ends
when the test says so, and after every request all that can go on does.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import Field

from gatechart import ANY, AgentContext, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import ActionFailedError, AgentExistsError, EventIdReusedError, UnknownAgentError
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from tests.insides import store_of

START = datetime(2030, 1, 1, tzinfo=UTC)
REST_S = 10
LIMITS = Limits(mail_retry=Retry(attempts=2, first_s=3.0, factor=1.0), timers=3, resident=2)
AGENTS = st.sampled_from(["a", "b", "c"])
IDS = st.sampled_from([None, None, "x", "y"])
EVENTS = st.sampled_from(
    [
        ("NOTE", {"n": 1}),
        ("NOTE", {"n": 2}),
        ("REST", {}),
        ("CALL", {}),
        ("LEAVE", {}),
        ("SET", {"key": "k", "after_s": 4}),
        ("SET", {"key": "k", "after_s": 15}),
        ("SET", {"key": "l", "after_s": 2}),
        ("UNSET", {"key": "k"}),
        ("BREAK", {}),
        ("BREAK", {}),
        ("END", {}),
    ]
)


class Notes(AgentContext):
    notes: list[str] = Field(default_factory=list)
    told: dict[str, int] = Field(default_factory=dict)


class World:
    """What the agents find outside."""

    def __init__(self):
        self.is_broken = True
        self.asked = {}  # what is being answered, by invocation
        self.drawn = []  # steps that ran


def note(context, event):
    context.notes.append(f"{event.name} {event.payload.get('n', '')}")


def note_answer(context, event):
    context.notes.append(str(event.payload["result"]))


def note_error(context, event):
    context.notes.append(event.payload["message"])


def break_down(context, event, turn):
    note(context, event)
    if turn.services.is_broken:
        raise RuntimeError("the world is broken")


def set_timer(context, event, turn):
    turn.after(event.payload["after_s"], "RING", {"n": event.payload["key"]}, key=event.payload["key"])


def unset_timer(context, event, turn):
    turn.cancel(event.payload["key"])


def tell(context, event, turn):
    turn.send(event.payload["to"], "TELL", {"n": event.payload["n"]})


def hear(context, event):
    context.told[event.sender] = context.told.get(event.sender, 0) + event.payload["n"]


async def ask(context, work):
    """Draws a number, once, then waits to be answered."""
    key = work.idempotency_key("draw")
    await work.step("draw", work.services.drawn.append, (work.agent_id, key))
    answered = work.services.asked[work.agent_id] = asyncio.get_running_loop().create_future()
    return await answered


machine = StateTransitionGraph(
    "machine",
    context=Notes,
    states=[
        "IDLE",
        State("RESTING", after={REST_S: "IDLE"}),
        State("CALLING", invoke=Invoke(ask)),
        State("HOME", final=True),
    ],
    transitions=[
        Transition("IDLE", "REST", "RESTING"),
        Transition("IDLE", "CALL", "CALLING"),
        Transition("CALLING", "done.invoke.ask", "IDLE", actions=note_answer),
        Transition("CALLING", "error.invoke.ask", "IDLE", actions=note_error),
        Transition(ANY, "LEAVE", "IDLE"),
        Transition(ANY, "NOTE", actions=note),
        Transition(ANY, "SET", actions=set_timer),
        Transition(ANY, "UNSET", actions=unset_timer),
        Transition(ANY, "RING", actions=note),
        Transition(ANY, "BREAK", actions=break_down),
        Transition(ANY, "PASS", actions=tell),
        Transition(ANY, "TELL", actions=hear),
        Transition(ANY, "END", "HOME"),
    ],
    entry_points=["IDLE", "RESTING", "CALLING"],
)


@dataclass
class Letter:
    """Mail in the model."""

    order: int
    to: str
    event: str
    payload: dict
    id: str | None = None
    sender: str | None = None
    due: datetime | None = None
    key: str | None = None
    state: str | None = None
    epoch: int = 0
    accepted: datetime = START
    status: str = "waiting"
    attempts: int = 0
    retry_at: datetime | None = None


@dataclass(frozen=True)
class Moment:
    """What an agent is at one version."""

    state: str = "IDLE"
    notes: tuple = ()
    told: tuple = ()
    status: Status = Status.ACTIVE
    epoch: int = 0  # of the state


@dataclass
class Known:
    """An agent in the model: the newest moment is the last."""

    moments: list
    applied: dict = field(default_factory=dict)  # what came under each id
    queue: list = field(default_factory=list)  # letters that were delivered
    is_calling: bool = False

    @property
    def now(self):
        return self.moments[-1]

    @property
    def version(self):
        return len(self.moments)


class Model:
    """What a runtime should be, in lists."""

    def __init__(self):
        self.clock = START
        self.is_broken = True
        self.agents = {}
        self.letters = []
        self._order = count(1)

    # what may be asked of it

    def start(self, agent_id, state):
        agent = self.agents[agent_id] = Known([])
        self._become(agent_id, agent, Moment(state, epoch=1), entered=True)
        agent.queue = self._ready(agent_id)
        self.settle()

    def send(self, agent_id, event, payload, event_id):
        """What is to become of it: "repeat", "reused", "failed", "refused" or "applied"."""
        result = self._apply(agent_id, event, payload, event_id, None)
        self.settle()
        return result

    def post(self, agent_id, event, payload, event_id, due):
        """Whether it is "accepted", a "repeat" or "reused"."""
        content = (event, payload)
        before = None if event_id is None else self._content(agent_id, event_id)
        if before is not None:
            return "repeat" if before == content else "reused"
        self._accept(Letter(next(self._order), agent_id, event, payload, event_id, None, due))
        self.settle()
        return "accepted"

    def _content(self, agent_id, event_id):
        applied = self.agents[agent_id].applied if agent_id in self.agents else {}
        named = {each.id: (each.event, each.payload) for each in self._waiting(agent_id)}
        return applied.get(event_id) or named.get(event_id)

    def advance(self, seconds):
        self.clock += timedelta(seconds=seconds)
        rung = [each for each in self._timed() if each.due <= self.clock]
        for each in sorted(rung, key=lambda each: (each.due, each.order)):
            self._deliver(each)
        self.settle()

    def finish(self, agent_id, kind, payload):
        agent = self.agents[agent_id]
        agent.is_calling = False
        mail = Letter(next(self._order), agent_id, f"{kind}.invoke.ask", payload)
        self._accept(replace(mail, state="CALLING", epoch=agent.now.epoch))
        self.settle()

    def stop(self, agent_id):
        agent = self.agents[agent_id]
        if agent.now.status is Status.ACTIVE:
            self._end_all(agent_id)
            self._become(agent_id, agent, replace(agent.now, status=Status.STOPPED, epoch=0))

    def roll_back(self, agent_id, version):
        agent = self.agents[agent_id]
        self._end_all(agent_id)
        target = agent.moments[version - 1]
        self._become(agent_id, agent, target, entered=target.status is Status.ACTIVE)

    def erase(self, agent_id):
        del self.agents[agent_id]
        self.letters = [each for each in self.letters if each.to != agent_id]

    def retry(self, letter):
        before = None if letter.id is None else self._content(letter.to, letter.id)
        if before is not None and before != (letter.event, letter.payload):
            return "reused"
        if before is not None:
            self.letters.remove(letter)
            return "repeat"
        letter.status, letter.attempts, letter.retry_at, letter.due = "waiting", 0, None, None
        self._deliver(letter)
        self.settle()
        return "accepted"

    def reopen(self):
        for agent_id, agent in self.agents.items():
            agent.queue = self._ready(agent_id)
        self.settle()

    # how it goes on

    def settle(self):
        """Lets every agent take what it can."""
        for agent_id, agent in self.agents.items():
            while self._take(agent_id, agent):
                self.settle()

    def _take(self, agent_id, agent):
        """Whether the agent is done with another letter."""
        if not agent.queue or (agent.queue[0].retry_at or self.clock) > self.clock:
            return False
        letter = agent.queue[0]
        is_stale = letter.state is not None and (letter.state, letter.epoch) != (agent.now.state, agent.now.epoch)
        result = "stale" if is_stale else self._apply(agent_id, letter.event, letter.payload, letter.id, letter)
        if result == "failed":
            letter.attempts += 1
            if letter.attempts < LIMITS.mail_retry.attempts:
                letter.retry_at = self.clock + timedelta(seconds=LIMITS.mail_retry.first_s)
                return False
            letter.status, letter.retry_at = "dead", None
        elif result in ("reused", "refused") and letter.state is None:
            letter.status, letter.retry_at = "refused", letter.retry_at
        elif letter in self.letters:
            self.letters.remove(letter)
        if letter in agent.queue:
            agent.queue.remove(letter)
        return True

    def _apply(self, agent_id, event, payload, event_id, letter):
        agent = self.agents[agent_id]
        now = agent.now
        if event_id is not None and event_id in agent.applied:
            return "repeat" if agent.applied[event_id] == (event, payload) else "reused"
        allowed = {"REST": "IDLE", "CALL": "IDLE", "done.invoke.ask": "CALLING", "error.invoke.ask": "CALLING"}
        if now.status is not Status.ACTIVE or allowed.get(event, now.state) != now.state:
            return "refused"
        if event.startswith("after.") and now.state != "RESTING":
            return "refused"
        if event == "BREAK" and self.is_broken:
            return "failed"
        if letter is not None:
            self.letters.remove(letter)
        if event_id is not None:
            agent.applied[event_id] = (event, payload)
        self._react(agent_id, agent, event, payload, None if letter is None else letter.sender)
        return "applied"

    def _react(self, agent_id, agent, event, payload, sender):  # noqa: C901
        now = agent.now
        notes, told = now.notes, dict(now.told)
        match event:
            case "NOTE" | "BREAK" | "RING":
                notes += (f"{event} {payload.get('n', '')}",)
            case "done.invoke.ask":
                notes += (str(payload["result"]),)
            case "error.invoke.ask":
                notes += (payload["message"],)
            case "TELL":
                told[sender] = told.get(sender, 0) + payload["n"]
        now = replace(now, notes=notes, told=tuple(told.items()))
        target = {"REST": "RESTING", "CALL": "CALLING", "END": "HOME"}.get(event)
        if event == "LEAVE" or event.startswith(("after.", "done.", "error.")):
            target = "IDLE"
        if target is None:
            self._become(agent_id, agent, now)
        elif target == "HOME":
            self._end_all(agent_id)
            self._become(agent_id, agent, replace(now, state=target, status=Status.DONE, epoch=0))
        else:
            self._drop(agent_id, lambda each: each.state is not None and each.state == now.state)
            agent.is_calling = False
            self._become(agent_id, agent, replace(now, state=target), entered=True)
        if event in ("SET", "UNSET"):
            self._drop(agent_id, lambda each: each.key == payload["key"])
        if event == "SET":
            due = self.clock + timedelta(seconds=payload["after_s"])
            ring = Letter(next(self._order), agent_id, "RING", {"n": payload["key"]}, None, agent_id, due)
            self._accept(replace(ring, key=payload["key"]))
        if event == "PASS":
            self._accept(Letter(next(self._order), payload["to"], "TELL", {"n": payload["n"]}, None, agent_id))

    def _become(self, agent_id, agent, moment, entered=False):
        if entered:
            moment = replace(moment, epoch=agent.version + 1)
        agent.moments.append(moment)
        if entered and moment.state == "RESTING":
            due = self.clock + timedelta(seconds=REST_S)
            timer = Letter(next(self._order), agent_id, f"after.{REST_S}s.RESTING", {}, None, agent_id, due)
            self._accept(replace(timer, state="RESTING", epoch=moment.epoch))
        if entered and moment.state == "CALLING":
            agent.is_calling = True

    def _accept(self, letter):
        letter.accepted = self.clock
        self.letters.append(letter)
        if letter.due is None or letter.due <= self.clock:
            self._deliver(letter)

    def _deliver(self, letter):
        if letter.to in self.agents:
            self.agents[letter.to].queue.append(letter)

    def _end_all(self, agent_id):
        self._drop(agent_id, lambda each: each.state is not None or each.key is not None)
        self.agents[agent_id].is_calling = False

    def _drop(self, agent_id, is_over):
        over = [each for each in self._waiting(agent_id) if is_over(each)]
        for each in over:
            self.letters.remove(each)
            if each in self.agents[agent_id].queue:
                self.agents[agent_id].queue.remove(each)

    def _waiting(self, agent_id):
        return sorted(
            (each for each in self.letters if each.to == agent_id and each.status == "waiting"),
            key=lambda each: each.order,
        )

    def _ready(self, agent_id):
        """What has been accepted, and is due: first what was ready first, whatever the clock said in between."""
        ready, latest = [], START - timedelta(days=1)
        for each in self._waiting(agent_id):
            if each.due is None:
                latest = max(latest, each.accepted)
                ready.append((latest, each.order, each))
            elif each.due <= self.clock:
                ready.append((max(latest, each.accepted, each.due), each.order, each))
        return [each for *_, each in sorted(ready, key=lambda place: place[:2])]

    def _timed(self):
        queued = {each.order for agent in self.agents.values() for each in agent.queue}
        return [
            each
            for each in self.letters
            if each.due is not None and each.status == "waiting" and each.order not in queued
        ]


class Comparison(RuleBasedStateMachine):
    """Asks the runtime and the model the same."""

    place = staticmethod(MemoryStore)

    @initialize()
    def open_both(self):
        self.loop = asyncio.new_event_loop()
        self.store = self.place()
        self.model, self.world, self.clock = Model(), World(), VirtualClock(START)
        self.entered = 0
        self._run(self._open())

    async def _open(self):
        self.opening = Runtime.open(self.store, graphs=[machine], services=self.world, clock=self.clock, limits=LIMITS)
        self.runtime = await self.opening.__aenter__()
        await self._rest()

    async def _close(self):
        await self.opening.__aexit__(None, None, None)
        self.world.asked.clear()

    def teardown(self):
        if hasattr(self, "loop"):
            self._run(self._close())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    def _run(self, work):
        async def bounded():
            async with asyncio.timeout(30):  # only against a hang: no wait here takes any time
                return await work

        return self.loop.run_until_complete(bounded())

    async def _rest(self):
        """Returns when all that is under way waits for the clock or for an answer, or the test is stuck."""
        quiet = 0
        while quiet < 3:
            await asyncio.sleep(0)
            asked = sum(not answered.done() for answered in self.world.asked.values())
            quiet = quiet + 1 if self.runtime.pending_work == self.clock.sleeping + asked else 0
            if quiet == 0:
                await asyncio.sleep(0.0002)

    def _ask(self, work):
        async def asked():
            try:
                return await work
            finally:
                await self._rest()

        return self._run(asked())

    def _is_free(self, agent_id):
        return agent_id in self.model.agents and not self.model.agents[agent_id].queue

    @rule(agent_id=AGENTS, at=st.sampled_from(["IDLE", "RESTING", "CALLING"]))
    def start(self, agent_id, at):
        starting = self.runtime.start("machine", at=at, agent_id=agent_id)
        if agent_id in self.model.agents:
            with pytest.raises(AgentExistsError):
                self._ask(starting)
        else:
            self._ask(starting)
            self.model.start(agent_id, at)

    @rule(agent_id=AGENTS, event=EVENTS, event_id=IDS)
    def send(self, agent_id, event, event_id):
        if not self._is_free(agent_id):
            return
        expected = self.model.send(agent_id, *event, event_id)

        async def send():
            agent = await self.runtime.resume(agent_id)
            return await agent.send(*event, event_id=event_id)

        if expected in ("failed", "reused"):
            with pytest.raises(ActionFailedError if expected == "failed" else EventIdReusedError):
                self._ask(send())
            return
        outcome = self._ask(send())
        assert (outcome.applied, outcome.repeat) == (expected != "refused", expected == "repeat")

    @rule(agent_id=AGENTS, event=EVENTS, event_id=IDS, due_s=st.sampled_from([None, None, None, -1, 3, 12]))
    def post(self, agent_id, event, event_id, due_s):
        due = None if due_s is None else self.clock.at + timedelta(seconds=due_s)
        expected = self.model.post(agent_id, *event, event_id, due)
        posting = self.runtime.post(agent_id, *event, event_id=event_id, due=due)
        if expected == "reused":
            with pytest.raises(EventIdReusedError):
                self._ask(posting)
        else:
            assert self._ask(posting).repeat == (expected == "repeat")

    @rule(sender=AGENTS, to=AGENTS)
    def pass_on(self, sender, to):
        if self._is_free(sender):
            payload = {"to": to, "n": 1}
            expected = self.model.send(sender, "PASS", payload, None)

            async def send():
                return await (await self.runtime.resume(sender)).send("PASS", payload)

            assert self._ask(send()).applied == (expected == "applied")

    @rule(seconds=st.sampled_from([0, 1, 2, 3, 5, 11, 1000, -2]))
    def go_on(self, seconds):
        self.clock.advance(seconds)
        self.model.advance(seconds)
        self._run(self._rest())

    @rule()
    def mend_or_break(self):
        self.model.is_broken = self.world.is_broken = not self.world.is_broken

    @rule(agent_id=AGENTS, fails=st.booleans())
    def answer(self, agent_id, fails):
        agent = self.model.agents.get(agent_id)
        if agent is None or not agent.is_calling:
            return
        asked = self.world.asked[agent_id]
        if fails:
            asked.set_exception(RuntimeError("no answer"))
            self.model.finish(agent_id, "error", {"message": "no answer"})
        else:
            asked.set_result(agent.version)
            self.model.finish(agent_id, "done", {"result": agent.version})
        self._run(self._rest())

    @rule()
    def reopen(self):
        self._run(self._close())
        self._run(self._open())
        self.model.reopen()

    @rule(agent_id=AGENTS)
    def stop(self, agent_id):
        if self._is_free(agent_id):
            self._ask(self.runtime.stop(agent_id))
            self.model.stop(agent_id)

    @rule(agent_id=AGENTS, back=st.integers(0, 6))
    def roll_back(self, agent_id, back):
        if not self._is_free(agent_id):
            return
        version = max(self.model.agents[agent_id].version - back, 1)

        async def roll_back():
            await (await self.runtime.resume(agent_id)).rollback(version, reason="a test")

        self._ask(roll_back())
        self.model.roll_back(agent_id, version)

    @rule(agent_id=AGENTS)
    def erase(self, agent_id):
        if self._is_free(agent_id):
            self._ask(self.runtime.erase(agent_id))
            self.model.erase(agent_id)
            self.world.drawn = [each for each in self.world.drawn if each[0] != agent_id]

    @precondition(lambda self: any(each.status != "waiting" for each in self.model.letters))
    @rule(discards=st.booleans())
    def retry_or_discard(self, discards):
        ended = sorted((each for each in self.model.letters if each.status != "waiting"), key=lambda each: each.order)
        mine = [each for each in ended if each.to == ended[0].to]
        place = sorted((each for each in self.model.letters if each.to == mine[0].to), key=lambda each: each.order)
        mail = self._run(self.runtime.mail(mine[0].to, limit=1000))[place.index(mine[0])]
        if discards:
            self._ask(self.runtime.discard(mail.number))
            self.model.letters.remove(mine[0])
        elif self.model.retry(mine[0]) == "reused":
            with pytest.raises(EventIdReusedError):
                self._ask(self.runtime.retry(mail.number))
        else:
            self._ask(self.runtime.retry(mail.number))

    @invariant()
    def they_agree(self):
        if hasattr(self, "runtime"):
            self._run(self._compare())

    async def _compare(self):
        for agent_id in ("a", "b", "c"):
            assert await self._mail(agent_id) == self._letters(agent_id)
            agent = self.model.agents.get(agent_id)
            if agent is None:
                with pytest.raises(UnknownAgentError):
                    await self.runtime.resume(agent_id)
            else:
                await self._compare_agent(agent_id, agent)
        keys = self.world.drawn
        assert len(keys) == len(set(keys))

    async def _compare_agent(self, agent_id, known):
        agent = await self.runtime.resume(agent_id)
        store = store_of(self.runtime)
        assert agent.snapshot == await store.load(agent_id)
        _check_moment(agent.snapshot, known.now, known.version)
        history = await agent.history()
        assert [entry.version for entry in history] == list(range(1, known.version + 1))
        assert [entry.target for entry in history] == [(each.state,) for each in known.moments]
        middle = (known.version + 1) // 2
        _check_moment(await agent.snapshot_at(middle), known.moments[middle - 1], middle)
        running = [each.invocation for _, each in await store.running(agent_id=agent_id, after=0, limit=10)]
        assert [(each.state, each.epoch) for each in running] == [("CALLING", known.now.epoch)] * known.is_calling

    async def _mail(self, agent_id):
        return [
            (
                mail.event,
                {name: value for name, value in mail.payload.items() if name not in ("traceback", "type", "attempts")},
                mail.id,
                mail.sender,
                mail.due,
                mail.key,
                mail.state,
                mail.epoch,
                mail.status,
                mail.attempts,
                mail.retry_at if mail.status == "waiting" else None,
            )
            for mail in await self.runtime.mail(agent_id, limit=1000)
        ]

    def _letters(self, agent_id):
        return [
            (
                each.event,
                each.payload,
                each.id,
                each.sender,
                each.due,
                each.key,
                each.state,
                each.epoch,
                each.status,
                each.attempts,
                each.retry_at if each.status == "waiting" else None,
            )
            for each in sorted(self.model.letters, key=lambda each: each.order)
            if each.to == agent_id
        ]


def _check_moment(snapshot, moment, version):
    context = Notes.model_validate_json(snapshot.context_text)
    assert (snapshot.configuration, snapshot.status, snapshot.version) == ((moment.state,), moment.status, version)
    assert (tuple(context.notes), tuple(context.told.items())) == (moment.notes, moment.told)
    is_attended = moment.state in ("RESTING", "CALLING") and moment.status is Status.ACTIVE
    assert snapshot.entered == (((moment.state, moment.epoch),) if is_attended else ())


QUICK = settings(
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
THOROUGH = settings(QUICK, max_examples=1500, stateful_step_count=60, derandomize=False)


@pytest.fixture
def kept_in(request, tmp_path):
    """A machine that keeps its agents in memory, or each time in another database."""
    numbers = count(1)
    places = {
        "memory": MemoryStore,
        "sqlite": lambda: f"sqlite+aiosqlite:///{tmp_path / f'agents-{next(numbers)}.db'}",
    }
    return type("Comparison", (Comparison,), {"place": staticmethod(places[request.param])})


@pytest.mark.parametrize(("kept_in", "examples"), [("memory", 60), ("sqlite", 12)], indirect=["kept_in"])
def test_a_runtime_does_what_its_model_does(kept_in, examples):
    run_machine(kept_in, settings(QUICK, max_examples=examples))


@pytest.mark.slow
@pytest.mark.parametrize("kept_in", ["memory", "sqlite"], indirect=True)
def test_a_runtime_does_what_its_model_does_for_long(kept_in):
    run_machine(kept_in, THOROUGH)


def run_machine(machine_type, how):
    """Runs it as its TestCase would, and raises what that would tell."""
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(machine_type, settings=how)
