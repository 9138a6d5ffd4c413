"""The commands: a service that the engine calls, and that ends when it is told to."""

import json
import signal
import socket

import pytest

from gatechart.cli import main
from gatechart.restate import RestateRuntime, register
from gatechart.values.handoffs import HandoffStatus
from tests.forked import COMMAND, PIPE, ROOT, fork
from tests.ports import free_ports
from tests.restate.busy_team import graphs
from tests.restate.engines import eventually
from tests.restate.fleet import counting

APP = "tests.restate.fleet:counting"


@pytest.fixture
def service(tmp_path):
    """A service begun from the command line, and its address."""
    (port,) = free_ports(1)
    store = f"sqlite+aiosqlite:///{tmp_path}/projection.db"
    command = ("restate", "serve", "--app", APP, "--bind", f"127.0.0.1:{port}", "--namespace", "cli", "--store", store)
    with fork(COMMAND, *command, cwd=ROOT, stderr=PIPE) as child:
        yield child, f"http://127.0.0.1:{port}", store
        child.kill()


async def test_a_service_is_begun_registered_used_and_stopped_from_the_command_line(engine, service, capsys):
    child, address, store = service

    async def is_registered():
        try:
            return await register(engine.admin, address)
        except Exception:
            return False

    await eventually(is_registered)
    async with RestateRuntime.open(
        engine.ingress, graphs=[counting], namespace="cli", projection=store, patience_s=10
    ) as runtime:
        agent = await runtime.start("counting", at="COUNTING", agent_id="c-1")
        await agent.send("COUNTED", {"n": 1})
        await runtime.caught_up("c-1")
        assert [entry.event.name for entry in await agent.history()] == ["agent.started.COUNTING", "COUNTED"]
        assert [each.agent_id for each in (await runtime.find(state="COUNTING")).agents] == ["c-1"]
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=15) == 0
    assert "agents of counting answer the engine" in child.stderr.read()


@pytest.fixture
def begun(tmp_path):
    """Begins services from the command line; each is killed at the end."""
    children = []

    def begin(port, *more):
        command = ("restate", "serve", "--app", APP, "--bind", f"127.0.0.1:{port}", "--namespace", "shared", *more)
        children.append(fork(COMMAND, *command, cwd=ROOT))
        return children[-1]

    yield begin
    for child in children:
        with child:
            child.kill()


async def test_processes_share_an_address_and_one_that_projects_has_its_own(engine, begun, tmp_path):
    port, own = free_ports(2)
    store = f"sqlite+aiosqlite:///{tmp_path}/projection.db"
    shared = ("--shares-address", "--projection", "elsewhere")
    one, other = (begun(port, *shared) for _ in range(2))
    begun(own, "--projection", "only", "--store", store)

    async def are_registered():
        try:
            offered = [await register(engine.admin, f"http://127.0.0.1:{each}") for each in (port, own)]
        except Exception:
            return False
        assert [sorted(each) for each in offered] == [
            [
                *("shared.Agent", "shared.BreakerList", "shared.Breakers", "shared.Capacity"),
                *("shared.Inbox", "shared.Invokes", "shared.Journals", "shared.Payloads"),
            ],
            ["shared.Projection"],
        ]
        return True

    await eventually(are_registered, 15)
    async with RestateRuntime.open(
        engine.ingress, graphs=[counting], namespace="shared", projection=store, patience_s=10
    ) as runtime:
        agent = await runtime.start("counting", at="COUNTING", agent_id="s-1")
        one.kill()
        await agent.send("COUNTED", {"n": 1})
        begun(port, *shared)
        other.kill()
        await agent.send("COUNTED", {"n": 2})
        await runtime.caught_up("s-1")
        assert len(await agent.history()) == 3


def test_registering_tells_what_a_service_offers(engine, service, capsys):
    _, address, _ = service
    for _ in range(50):
        code = main(["restate", "register", address, "--admin", engine.admin, "--json"])
        told = capsys.readouterr()
        if code == 0:
            break
    offered = json.loads(told.out)["offers"]
    assert sorted(offered) == [
        "cli.Agent",
        "cli.BreakerList",
        "cli.Breakers",
        "cli.Capacity",
        "cli.Inbox",
        "cli.Invokes",
        "cli.Journals",
        "cli.Payloads",
        "cli.Projection",
    ]


def test_an_engine_that_is_not_there_cannot_be_told(capsys):
    (port,) = free_ports(1)
    assert main(["restate", "register", "--admin", f"http://127.0.0.1:{port}"]) == 5
    assert "nobody answers" in capsys.readouterr().err


def test_an_address_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        command = ("restate", "serve", "--app", APP, "--projection", "none", "--bind", bind)
        with fork(COMMAND, *command, cwd=ROOT, stderr=PIPE) as child:
            _, told = child.communicate(timeout=30)
    assert child.returncode == 5
    assert f"cannot listen at {bind}" in told


@pytest.mark.parametrize(
    ("options", "chosen"), [((), "senior"), (("--choosing", "tests.restate.busy_team:make_choosing"), "junior")]
)
async def test_a_service_chooses_by_the_choosing_that_is_named_and_so_does_a_dry_run(options, chosen, engine, tmp_path):
    (port,) = free_ports(1)
    names = ("--app", "tests.restate.busy_team:graphs", *options)
    store = f"sqlite+aiosqlite:///{tmp_path}/projection.db"
    command = (
        "restate",
        "serve",
        "--bind",
        f"127.0.0.1:{port}",
        "--namespace",
        f"by-{chosen}",
        "--store",
        store,
        *names,
    )

    async def is_registered():
        try:
            return await register(engine.admin, f"http://127.0.0.1:{port}")
        except Exception:
            return False

    async def is_accepted():
        return [each.status for each in await runtime.handoffs(source="a")] == [HandoffStatus.ACCEPTED]

    with fork(COMMAND, *command, cwd=ROOT) as child:
        try:
            await eventually(is_registered)
            async with RestateRuntime.open(
                engine.ingress, graphs=graphs, namespace=f"by-{chosen}", projection=store, patience_s=10
            ) as runtime:
                agent = await runtime.start("asking", at="LISTENING", agent_id="a")
                await agent.send("ASKED")
                await eventually(is_accepted, 15)
                (handoff,) = await runtime.handoffs(source="a")
        finally:
            child.kill()
    assert handoff.target_graph == chosen
    asked = ("directory", "choose", "--tier", "1", "--json", *names, "--store", store)
    with fork(COMMAND, *asked, cwd=ROOT, stdout=PIPE) as child:
        out, _ = child.communicate(timeout=30)
    assert json.loads(out)["candidate"]["graph"] == chosen  # by the projection


def test_a_service_whose_choosing_cannot_be_had_is_not_begun(tmp_path, capsys):
    store = f"sqlite+aiosqlite:///{tmp_path}/projection.db"
    named = ("--app", "tests.restate.busy_team:graphs", "--choosing", "tests.restate.busy_team:graphs")
    assert main(["restate", "serve", "--store", store, *named]) == 3
    assert "it is of type list; name a Choosing, or a function that makes one" in capsys.readouterr().err
    assert not (tmp_path / "projection.db").exists()
