"""`gatechart serve` in a process of its own: how it starts, how it is stopped, what a kill leaves."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import httpx
import pytest

import gatechart
from gatechart.cli import main
from gatechart.clients import HttpClient
from gatechart.errors import OutsideError
from gatechart.serving.access import OpenDoorError
from gatechart.serving.server import AddressError, listening
from gatechart.stores import open_store
from gatechart.values.homes import Role
from tests.serving.conftest import PATIENCE_S, TOKEN, process, within

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture
def refused(capsys, monkeypatch):
    """What `gatechart serve` says where it does not start: its exit code, and its message."""

    def run(*options, token=None):
        if token is None:
            monkeypatch.delenv("GATECHART_TOKEN", raising=False)
        else:
            monkeypatch.setenv("GATECHART_TOKEN", token)
        serve = ["serve", "--json", "--app", "tests.serving.shop:graphs", "--store", "memory:", "--port", "0"]
        code = main([*serve, *options])
        return code, json.loads(capsys.readouterr().err)["message"]

    return run


async def test_it_serves_until_sigterm_and_lets_what_is_under_way_end(sqlite_url):
    with process(sqlite_url) as server:
        async with HttpClient(server.url) as client:
            await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
            async with client.changes(patience_s=0.1) as changes:
                sending = asyncio.create_task(client.send("a", "DAWDLED", {"seconds": 1.0}))
                await asyncio.sleep(0.3)  # it is under way then
                ended = asyncio.create_task(asyncio.to_thread(server.end))
                assert (await within(sending)).applied
                with pytest.raises(OutsideError):
                    [_ async for _ in changes]
            code, told = await within(ended)
    assert code == 0, told
    with process(sqlite_url) as server:
        async with HttpClient(server.url) as client:
            assert (await client.read("a")).context["count"] == 1
        assert server.end(signal.SIGINT)[0] == 0


async def test_it_ends_and_says_so_when_another_runtime_takes_its_database_over(sqlite_url):
    with process(sqlite_url) as server:
        async with open_store(sqlite_url, role=Role.TAKE_OVER):
            code = await asyncio.to_thread(server.popen.wait, PATIENCE_S)
        assert (code, "this runtime owned" in server.popen.stderr.read()) == (5, True)


def test_a_second_signal_stops_it_at_once(sqlite_url):
    with process(sqlite_url, "--grace", "60") as server:
        httpx.post(
            f"{server.url}/agents", json={"graph": "shop", "at": "OPEN", "payload": {"name": "A"}, "agent_id": "a"}
        )
        with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_S) as http:
            with suppress(httpx.TimeoutException):
                dawdle = {"event": "DAWDLED", "payload": {"seconds": 50}}
                http.post("/agents/a/events", json=dawdle, timeout=0.5)
            server.popen.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                server.popen.wait(0.5)
            assert server.popen.poll() is None
            assert server.end()[0] == -signal.SIGTERM


async def test_a_kill_in_the_middle_doubles_and_loses_nothing(sqlite_url):
    agents, events = [f"a{number}" for number in range(3)], 24
    with process(sqlite_url) as server:
        async with HttpClient(server.url) as client:
            for agent in agents:
                await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=agent)

            async def send(agent):
                for number in range(events):
                    await client.send(agent, "NOTED", {"note": f"{number}"}, event_id=f"e{number}")

            sending = [asyncio.create_task(send(agent)) for agent in agents]
            async with asyncio.timeout(PATIENCE_S):
                while (await client.read("a0")).version < events // 2:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            server.popen.kill()
            assert all(
                isinstance(each, OutsideError) for each in await asyncio.gather(*sending, return_exceptions=True)
            )
    with process(sqlite_url) as server:
        async with HttpClient(server.url) as client:
            for agent in agents:
                outcomes = [
                    await client.send(agent, "NOTED", {"note": f"{number}"}, event_id=f"e{number}")
                    for number in range(events)
                ]
                assert outcomes[0].repeat
                notes = (await client.read(agent)).context["notes"]
                assert notes == [f"{number}" for number in range(events)]
        assert server.end()[0] == 0


def test_a_token_may_come_from_a_file_or_the_environment(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    for given in ({"options": ("--token-file", str(file), "--host", "0.0.0.0")}, {"token": TOKEN}):
        with process("memory:", *given.pop("options", ()), **given) as server:
            url = server.url.replace("0.0.0.0", "127.0.0.1")
            assert httpx.get(f"{url}/agents", trust_env=False).status_code == 401
            headers = {"authorization": f"Bearer {TOKEN}"}
            assert httpx.get(f"{url}/agents", headers=headers, trust_env=False).status_code == 200
            assert httpx.get(f"{url}/health/ready", trust_env=False).status_code == 200


def test_it_refuses_to_be_open_to_others_without_a_token(refused, tmp_path):
    code, message = refused("--host", "0.0.0.0")
    assert (code, "needs a token" in message) == (3, True)
    for token in ("", "short"):
        code, message = refused(token=token)
        assert (code, f"it has only {len(token)} characters" in message) == (3, True)
    code, message = refused("--token-file", str(tmp_path / "none"))
    assert (code, f"{str(tmp_path / 'none')!r} cannot be read: No such file" in message) == (3, True)
    code, message = refused("--token-file", str(tmp_path))
    assert (code, "cannot be read: Is a directory" in message) == (3, True)
    (tmp_path / "odd").write_bytes(b"\xff" * 40)
    code, message = refused("--token-file", str(tmp_path / "odd"))
    assert (code, "an HTTP header cannot hold" in message) == (3, True)


def test_how_long_ids_are_recognised_is_said_in_vain_where_everything_is_kept(refused):
    code, message = refused("--ids-for", "1d")
    assert (code, "add --prune AGE or --keep-turns NUMBER" in message) == (2, True)


def test_a_port_that_is_taken_is_told(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, message = refused("--port", str(taken.getsockname()[1]))
    assert code == 5
    assert "--port (0 for any free port)" in message


def test_what_is_not_installed_is_told(refused, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gatechart.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(gatechart, "serving", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, message = refused()
    assert (code, "pip install 'gatechart[serve]'" in message) == (5, True)


async def test_what_cannot_be_listened_at_is_told():
    for host, port in (("256.0.0.1", 0), ("127.0.0.1", 99999), ("nowhere.invalid", 0)):
        with pytest.raises((AddressError, OpenDoorError)):
            async with listening(print, host=host, port=port, has_token=host != "nowhere.invalid"):
                pass


async def test_a_name_of_this_machine_that_stands_for_all_addresses_is_not_listened_at_without_a_token(monkeypatch):
    resolved = socket.getaddrinfo("0.0.0.0", 0, type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: resolved)
    with pytest.raises(OpenDoorError):
        async with listening(print, host="localhost", port=0, has_token=False):
            pass


def test_its_log_is_lines_of_json(sqlite_url):
    with process(sqlite_url) as server:
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as connection:
            connection.sendall(b"nonsense\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400")
        _, told = server.end()
    lines = [json.loads(line) for line in told.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "warning"]
    assert "Invalid HTTP request" in lines[0]["message"]
    assert lines[1]["message"] == "stopping; turns and invokes under way get 10 s"


def test_its_log_is_lines_of_json_where_it_is_stopped_at_once(sqlite_url):
    with process(sqlite_url, "--drain", "60") as server:
        server.popen.send_signal(signal.SIGINT)
        first = json.loads(server.popen.stderr.readline())
        code, told = server.end(signal.SIGINT)
    lines = [first, *map(json.loads, told.splitlines())]
    assert code == 130
    assert lines[0]["message"].startswith("stopping")
    assert lines[-1]["error"] == "KeyboardInterrupt"
