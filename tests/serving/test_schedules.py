"""Schedules over HTTP and in the client."""

import asyncio

import pytest

from gatechart.errors import PayloadError, UnknownScheduleError
from gatechart.values.recurrence import Every
from gatechart.values.schedules import Overlap

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

HOURLY = {"name": "hourly", "graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "every": "1h"}


async def test_a_schedule_is_made_changed_paused_resumed_run_and_deleted(http):
    made = await http.post("/schedules", json=HOURLY)
    assert made.status_code == 200
    told = made.json()
    assert (told["name"], told["agent_id"], told["every"]["period"]) == ("hourly", "schedule:hourly", "1h")
    assert (await http.get("/schedules")).json() == {"schedules": [told], "next": None}
    changed = await http.post("/schedules", json={**HOURLY, "every": 7200, "overlap": "start"})
    assert (changed.json()["every"]["period"], changed.json()["overlap"]) == ("7200s", "start")
    paused = await http.post("/schedules/hourly/pause")
    assert (paused.status_code, paused.json()["is_paused"], paused.json()["next"]) == (200, True, None)
    assert (await http.post("/schedules/hourly/resume")).json()["is_paused"] is False
    run = await http.post("/schedules/hourly/run", json={"idempotency_key": "1"})
    assert run.status_code == 202
    assert (await http.delete("/schedules/hourly")).status_code == 204
    assert (await http.get("/schedules")).json()["schedules"] == []


async def test_a_client_reads_what_the_server_wrote(client):
    made = await client.schedule(
        "hourly", "shop", at="OPEN", payload={"name": "Ada"}, cron="0 * * * *", zone="Europe/Berlin", missed="each"
    )
    assert made.every == Every(cron="0 * * * *", zone="Europe/Berlin", missed="each")
    assert (made.overlap, made.payload, made.started) == (Overlap.SKIP, {"name": "Ada"}, ())
    assert await client.schedules() == (made,)
    await client.run_schedule("hourly")
    async with asyncio.timeout(60):
        while not (started := (await client.schedules())[0].started):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await client.read(started[0])).configuration == ("OPEN",)
    assert (await client.pause_schedule("hourly")).is_paused
    assert not (await client.resume_schedule("hourly")).is_paused
    await client.delete_schedule("hourly")
    with pytest.raises(UnknownScheduleError, match="hourly"):
        await client.pause_schedule("hourly")


async def test_schedules_are_listed_a_page_at_a_time(http, client):
    for name in ("c", "a", "b"):
        await http.post("/schedules", json={**HOURLY, "name": name})
    page = (await http.get("/schedules", params={"limit": 2})).json()
    assert ([each["name"] for each in page["schedules"]], page["next"]) == (["c", "a"], "a")
    assert [each.name for each in await client.schedules(after="a")] == ["b"]
    assert [each.name for each in await client.schedules()] == ["c", "a", "b"]


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("wrong", "status", "error"),
    [
        ({"graph": "bazaar"}, 404, "UnknownGraphError"),
        ({"at": "SHUT"}, 422, "EntryRefusedError"),
        ({"payload": {}}, 422, "PayloadError"),
        ({"cron": "0 9 * * *"}, 422, "PayloadError"),
        ({"every": None, "cron": "soon"}, 422, "PayloadError"),
        ({"overlap": "stop"}, 422, "BadRequest"),
        ({"name": ""}, 422, "BadRequest"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused(http, wrong, status, error):
    refused = await http.post("/schedules", json={**HOURLY, **wrong})
    assert (refused.status_code, refused.json()["error"]) == (status, error)
    assert (await http.get("/schedules")).json()["schedules"] == []


async def test_an_unknown_schedule_is_not_found(http, client):
    for request in (http.post("/schedules/none/pause"), http.delete("/schedules/none")):
        answer = await request
        assert (answer.status_code, answer.json()["error"]) == (404, "UnknownScheduleError")
    with pytest.raises(PayloadError):
        await client.schedule("hourly", "shop", at="OPEN", every="often")


async def test_a_client_schedules_by_a_period(client):
    for every in ("1d", 90.0):
        made = await client.schedule("hourly", "shop", at="OPEN", payload={"name": "Ada"}, every=every)
    assert made.every == Every("90s")
    assert await client.schedules() == (made,)
