"""The framework's own agents over HTTP and in the client: closed to changes, and listed on request."""

import pytest

from gatechart.errors import FrameworkAgentError

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

HOURLY = {"name": "hourly", "graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "every": "1h"}
ALARM = {"name": "watchdog.stuck", "recipients": ["victim"], "payload": {}, "asked": "x"}


@pytest.fixture(autouse=True)
async def scheduled(http):
    assert (await http.post("/schedules", json=HOURLY)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/agents", {"graph": "gatechart.alarm", "at": "RAISED", "payload": ALARM}),
        ("POST", "/agents", {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "alerts:ops"}),
        ("POST", "/schedules", {**HOURLY, "graph": "gatechart.alarm"}),
        ("POST", "/agents/schedule:hourly/events", {"event": "RUN"}),
        ("POST", "/agents/schedule:hourly/mail", {"event": "RUN"}),
        ("POST", "/agents/schedule:other/mail", {"event": "RUN"}),
        ("POST", "/agents/schedule:hourly/stop", None),
        ("POST", "/agents/schedule:hourly/rollback", {"version": 1, "reason": "again"}),
        ("POST", "/agents/schedule:hourly/fork", {"version": 1, "new_id": "mine"}),
        ("POST", "/agents/schedule:hourly/handoffs", {"to": "shop", "at": "OPEN"}),
        ("DELETE", "/agents/schedule:hourly", None),
    ],
)
async def test_no_request_changes_an_agent_of_the_framework(http, method, path, body):
    before = (await http.get("/agents/schedule:hourly")).json()
    answer = await http.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, "FrameworkAgentError")
    assert (await http.get("/agents/schedule:hourly")).json() == before
    assert (await http.get("/agents")).json()["agents"] == []


async def test_agents_of_the_framework_are_listed_and_read_on_request(http, client):
    assert (await http.get("/agents")).json()["agents"] == []
    found = (await http.get("/agents", params={"framework": "true"})).json()["agents"]
    assert [each["agent_id"] for each in found] == ["schedule:hourly"]
    assert (await client.find()).agents == ()
    assert [each.agent_id for each in (await client.find(framework=True)).agents] == ["schedule:hourly"]
    assert [each.graph for each in await client.counts(framework=True)] == ["gatechart.schedule"]
    assert await client.counts() == ()
    with pytest.raises(FrameworkAgentError, match=r"delete_schedule\(\)"):
        await client.erase("schedule:hourly")
