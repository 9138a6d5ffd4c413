"""The gate for alarms: a role of its own, an id, a rate."""

import httpx
import pytest

from gatechart.clients import HttpClient
from gatechart.serving import ServerLimits, read_registrants
from gatechart.serving.access import RegistrantsError
from tests.serving.conftest import serving

TOKEN, MONITOR, OTHER = "the server's own token".replace(" ", "-"), "monitor-token-of-32-characters", "o" * 20
DISK = {"name": "disk", "alarm_id": "m-1", "payload": {"level": 90}}


def bearer(token):
    return {"authorization": f"Bearer {token}"}


async def test_who_may_only_raise_alarms_may_do_nothing_else():
    async with serving(token=TOKEN, alarmists={"monitor": MONITOR}) as served:
        async with HttpClient(served.url, token=TOKEN) as owner:
            agent = await owner.start("shop", at="OPEN", payload={"name": "Anna"})
        async with httpx.AsyncClient(base_url=served.url, headers=bearer(MONITOR)) as http:
            raised = await http.post("/alarms", json={**DISK, "to": [agent.id]})
            assert (raised.status_code, raised.json()) == (
                200,
                {"alarm_id": "m-1", "event": "alarm.disk", "recipients": [agent.id], "repeat": False},
            )
            again = await http.post("/alarms", json={**DISK, "to": [agent.id]})
            assert again.json() == {**raised.json(), "repeat": True}
            other = await http.post("/alarms", json={**DISK, "name": "cpu", "to": [agent.id]})
            assert (other.status_code, other.json()["error"]) == (409, "EventIdReusedError")
            for method, path in (("GET", "/agents"), ("GET", "/findings"), ("POST", "/directory"), ("GET", "/changes")):
                refused = await http.request(method, path)
                assert (path, refused.status_code, refused.json()["error"]) == (path, 403, "Forbidden")
                assert "raise alarms" in refused.json()["message"]
            http.headers.update(bearer("wrong"))
            assert (await http.post("/alarms", json=DISK)).status_code == 401


async def test_an_alarm_for_agents_within_bounds_is_the_same_over_http_and_in_the_database():
    async with serving(token=TOKEN) as served, HttpClient(served.url, token=TOKEN) as client:
        agent = await client.start("shop", at="OPEN", payload={"name": "Anna"})
        async with httpx.AsyncClient(base_url=served.url, headers=bearer(TOKEN)) as http:
            found = {"graph": "shop", "where": {"count": {"lt": 1}, "name": ["Anna", "Bob"]}}
            assert (await http.post("/alarms", json={**DISK, **found})).json()["recipients"] == [agent.id]
            refused = await http.post("/alarms", json={**DISK, **found, "where": {"name": [None]}})
            assert (refused.status_code, refused.json()["error"]) == (422, "BadRequest")
        here = {"alarm_id": DISK["alarm_id"], "payload": DISK["payload"]}
        raised = await served.runtime.alarm(DISK["name"], **here, **found)
        assert (raised.repeat, raised.recipients) == (True, (agent.id,))


async def test_alarms_are_raised_no_oftener_than_allowed():
    limits = ServerLimits(alarms="2/min")
    async with serving(token=TOKEN, alarmists={"monitor": MONITOR, "other": OTHER}, server=limits) as served:
        async with HttpClient(served.url, token=TOKEN) as owner:
            agent = await owner.start("shop", at="OPEN", payload={"name": "Anna"})
        async with httpx.AsyncClient(base_url=served.url, headers=bearer(MONITOR)) as http:
            asked = {**DISK, "to": [agent.id]}
            assert [(await http.post("/alarms", json=asked)).status_code for _ in range(3)] == [200, 200, 429]
            refused = await http.post("/alarms", json=asked)
            assert (refused.json()["error"], int(refused.headers["retry-after"]) > 0) == ("TooManyAlarms", True)
            http.headers.update(bearer(OTHER))
            assert (await http.post("/alarms", json=asked)).status_code == 200


WRONG = (
    ({"name": "watchdog.stuck"}, 422),
    ({"name": "a b"}, 422),
    ({"alarm_id": ""}, 422),
    ({"to": []}, 422),
    ({"to": ["nobody"]}, 404),
    ({"graph": "shop"}, 422),
    ({"most": 5000}, 422),
)


@pytest.mark.sqlite_is_enough
async def test_an_alarm_that_cannot_be_is_refused(http):
    body = {"graph": "shop", "at": "OPEN", "payload": {"name": "Anna"}}
    agent = (await http.post("/agents", json=body)).json()["agent_id"]
    for wrong, status in WRONG:
        assert (await http.post("/alarms", json={**DISK, "to": [agent], **wrong})).status_code == status, wrong


@pytest.mark.sqlite_is_enough
async def test_findings_and_hosts_are_listed(http):
    assert (await http.get("/findings")).json() == {"findings": [], "next": None}
    assert (await http.get("/hosts")).json() == {"hosts": [], "next": None}


def test_two_roles_do_not_share_a_token(tmp_path):
    file = tmp_path / "alarms"
    file.write_text(f"monitor {MONITOR}\n")
    assert read_registrants(file, TOKEN, [OTHER]) == {"monitor": MONITOR}
    with pytest.raises(RegistrantsError, match="tokens must be unique, and these are not: 'monitor'"):
        read_registrants(file, TOKEN, [MONITOR])


async def test_a_monitor_learns_no_ids_that_it_did_not_send():
    async with serving(token=TOKEN, alarmists={"monitor": MONITOR}) as served:
        agents = [(await served.runtime.start("shop", at="OPEN", payload={"name": "Anna"})).id for _ in range(3)]
        await served.runtime.register_entry("anna", "shop", at="OPEN")
        async with httpx.AsyncClient(base_url=served.url, headers=bearer(MONITOR)) as http:
            whole = {**DISK, "graph": "shop"}
            for is_repeat in (False, True):
                raised = (await http.post("/alarms", json=whole)).json()
                assert (raised["recipients"], raised["repeat"]) == ([], is_repeat)
            named = await http.post("/alarms", json={**DISK, "alarm_id": "m-2", "to": agents[:1]})
            assert named.json()["recipients"] == agents[:1]
            for number, graph in enumerate(("gatechart.directory", "gatechart.alarm", "gatechart.schedule")):
                refused = await http.post("/alarms", json={**DISK, "alarm_id": f"g-{number}", "graph": graph})
                assert (refused.status_code, refused.json()["error"]) == (422, "FrameworkAgentError")
            refused = await http.post("/alarms", json={**DISK, "alarm_id": "g-3", "graph": "shopp"})
            assert (refused.status_code, refused.json()["message"]) == (404, "no graph is named 'shopp'")
            for number, agent_id in enumerate(("directory:anna", "directory:bert", "alarm:m-1")):  # bert has no entry
                refused = await http.post("/alarms", json={**DISK, "alarm_id": f"i-{number}", "to": [agent_id]})
                assert (refused.status_code, refused.json()["error"]) == (422, "FrameworkAgentError")
            reused = await http.post("/alarms", json={**whole, "name": "cpu", "payload": {}})
            assert reused.json()["message"].startswith("the alarm id 'm-1' belongs to another alarm")
            unknown = await http.post("/alarms", json={**whole, "alarm_id": "f-1", "where": {"secret": 1}})
            assert (unknown.status_code, unknown.json()["error"]) == (404, "UnknownFieldError")
            assert unknown.json()["message"] == "agents of 'shop' cannot be found by 'secret'"


async def test_no_alarm_reaches_agents_of_the_framework():
    async with serving(token=TOKEN) as served:
        await served.runtime.register_entry("anna", "shop", at="OPEN")
        before = await served.runtime.read("directory:anna")
        async with httpx.AsyncClient(base_url=served.url, headers=bearer(TOKEN)) as http:
            by_graph = await http.post("/alarms", json={**DISK, "graph": "gatechart.directory"})
            by_id = await http.post("/alarms", json={**DISK, "to": ["directory:anna"]})
        assert [(answer.status_code, answer.json()["error"]) for answer in (by_graph, by_id)] == [
            (422, "FrameworkAgentError"),
            (422, "FrameworkAgentError"),
        ]
        assert await served.runtime.read("directory:anna") == before
