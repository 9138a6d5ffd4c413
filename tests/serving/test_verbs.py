"""What can be asked over HTTP, and what comes back."""

import asyncio

import pytest

from gatechart import Handoff, StateTransitionGraph, Transition
from gatechart.clients import HttpClient
from gatechart.graph.handoff import Fallbacks, Human, OtherGraph, SameTarget
from gatechart.graph.selection import FILTERS, SCORERS, WEIGHTS
from gatechart.handoff import read_packet
from gatechart.handoff.fallbacks import fallbacks_of
from gatechart.selection import Best
from gatechart.values.profiles import Needs
from tests.serving.conftest import serving, within

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

CASE = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}}


async def test_an_agent_is_started_read_and_found_under_its_location(http):
    started = await http.post("/agents", json={**CASE, "agent_id": "case-1"})
    assert started.status_code == 201
    assert started.headers["location"] == "/agents/case-1"
    assert started.json()["configuration"] == ["OPEN"]
    assert (await http.get(started.headers["location"])).json() == started.json()
    assert (await http.get("/agents", params={"state": "OPEN"})).json()["agents"] == [started.json()]


async def test_an_agent_may_have_any_name(http, client):
    for name in ("a/b", "..", ".", "a b%20", "ü?#&=", "'\";--", "\u8ba2\u5355-17", "x" * 300):
        await http.post("/agents", json={**CASE, "agent_id": name})
        assert (await client.read(name)).agent_id == name
        assert (await client.send(name, "COUNTED")).applied
        assert [entry.agent_id for entry in await client.history(name)] == [name, name]


async def test_agents_that_failed_are_found_as_such(http, client):
    for name, event in (("done", "LEFT"), ("failed", "BROKE"), ("active", "COUNTED")):
        await http.post("/agents", json={**CASE, "agent_id": name})
        outcome = await http.post(f"/agents/{name}/events", json={"event": event})
        assert outcome.json()["status"] == name
    assert (await http.get("/agents/failed")).json()["status"] == "failed"
    found = (await http.get("/agents", params={"status": "failed"})).json()["agents"]
    assert [each["agent_id"] for each in found] == ["failed"]
    assert [each.agent_id for each in (await client.find(status="failed")).agents] == ["failed"]


async def test_agents_are_found_by_searchable_fields(http, client):
    for name in ("Ada", "Bob", "Adam"):
        await http.post("/agents", json={**CASE, "payload": {"name": name}, "agent_id": name})
    await client.send("Bob", "COUNTED")
    found = await http.get("/agents", params={"graph": "shop", "where": '{"name":{"prefix":"A"}}', "order": "-name"})
    assert [each["agent_id"] for each in found.json()["agents"]] == ["Adam", "Ada"]
    assert found.json()["incomplete"] == []
    page = await client.find(where={"count": 0, "name": ["Ada", "Bob"]})
    assert [each.agent_id for each in page.agents] == ["Ada"]
    assert [each.agent_id async for each in client.agents(order="-count")] == ["Bob", "Adam", "Ada"]
    assert [each.agents for each in await client.counts(graph="shop")] == [3]


@pytest.mark.parametrize(
    ("where", "status", "told"),
    [
        ('{"nme":"Ada"}', 404, "did you mean 'name'"),
        ("name=Ada", 422, "where"),
        ('{"name":null}', 422, "where.name"),
        ('{"name":{"above":1}}', 422, "above"),
        ("[]", 422, "where"),
    ],
)
async def test_a_condition_that_makes_no_sense_is_refused(http, where, status, told):
    refused = await http.get("/agents", params={"where": where})
    assert refused.status_code == status
    assert told in refused.json()["message"]


@pytest.mark.parametrize("path", ["/mail", "/handoffs", "/schedules"])
async def test_a_page_without_room_has_no_entries(http, path):
    answered = await http.get(path, params={"limit": 0})
    assert (answered.status_code, answered.json()[path.removeprefix("/")]) == (200, [])


async def test_a_trigger_starts_where_it_opens(http):
    started = await http.post("/agents", json={"trigger": "CALLED", "payload": {"name": "Ada"}})
    assert started.status_code == 201
    assert started.json()["graph"] == "shop"


async def test_a_trigger_of_two_graphs_is_a_conflict(http):
    refused = await http.post("/agents", json={"trigger": "WRITTEN", "payload": {"name": "Ada"}})
    assert refused.status_code == 409
    assert refused.json()["error"] == "AmbiguousTriggerError"


async def test_an_event_has_its_outcome_and_its_id_takes_effect_once(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    first = await http.post("/agents/a/events", json={"event": "COUNTED", "event_id": "e1"})
    assert first.status_code == 200
    assert (first.json()["applied"], first.json()["repeat"]) == (True, False)
    again = await http.post("/agents/a/events", json={"event": "COUNTED", "event_id": "e1"})
    assert (again.json()["applied"], again.json()["repeat"]) == (True, True)
    assert (await http.get("/agents/a")).json()["context"]["count"] == 1


async def test_a_refused_event_is_an_outcome_and_no_error(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    refused = await http.post("/agents/a/events", json={"event": "UNHEARD_OF"})
    assert refused.status_code == 200
    assert refused.json()["refusal"]["reason"] == "no transition"
    assert (await http.get("/agents/a")).json()["version"] == 1


async def test_a_graph_that_asks_for_an_error_gets_a_conflict(http):
    await http.post("/agents", json={"graph": "strict", "at": "WAITING", "agent_id": "a"})
    refused = await http.post("/agents/a/events", json={"event": "UNHEARD_OF"})
    assert (refused.status_code, refused.json()["error"]) == (409, "EventRefusedError")


async def test_a_turn_that_fails_is_a_conflict_and_undone(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    failed = await http.post("/agents/a/events", json={"event": "JAMMED"})
    assert (failed.status_code, failed.json()["error"]) == (409, "ActionFailedError")
    assert (await http.get("/agents/a")).json()["version"] == 1


async def test_posted_mail_is_accepted_and_applied(http, served):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    async with served.runtime.changes() as changes:
        posted = await http.post("/agents/a/mail", json={"event": "COUNTED", "event_id": "m1"})
        assert (posted.status_code, posted.json()["repeat"]) == (202, False)
        assert (await within(anext(changes))).event.id == "m1"
    again = await http.post("/agents/a/mail", json={"event": "COUNTED", "event_id": "m1"})
    assert (again.status_code, again.json()["repeat"]) == (202, True)


async def test_the_wait_of_mail_that_failed_is_lifted(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    number = (await http.post("/agents/a/mail", json={"event": "JAMMED"})).json()["mail"]
    async with asyncio.timeout(60):
        while (mail := (await http.get("/mail")).json()["mail"])[0]["retry_at"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    lifted = await http.post(f"/mail/{number}/retry")
    assert (lifted.status_code, lifted.json()["status"], lifted.json()["retry_at"]) == (200, "waiting", None)
    assert lifted.json()["attempts"] == mail[0]["attempts"]
    async with asyncio.timeout(60):
        while (await http.get("/mail")).json()["mail"][0]["attempts"] == mail[0]["attempts"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    unknown = await http.post("/mail/99/retry")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "UnknownMailError")


async def test_history_versions_rollback_stop_and_erase(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    await http.post("/agents/a/events", json={"event": "NOTED", "payload": {"note": "x"}})
    turns = (await http.get("/agents/a/history", params={"after": 1})).json()["history"]
    assert [turn["appended"] for turn in turns] == [{"notes": ["x"]}]
    assert (await http.get("/agents/a/versions/1")).json()["context"]["notes"] == []
    back = await http.post("/agents/a/rollback", json={"version": 1, "reason": "a slip"})
    assert (back.status_code, back.json()["version"]) == (200, 3)
    assert (await http.post("/agents/a/stop")).json()["status"] == "stopped"
    assert (await http.delete("/agents/a")).status_code == 204
    assert (await http.get("/agents/a")).status_code == 404
    assert (await http.delete("/agents/a")).status_code == 404


async def test_work_is_handed_on_and_the_handoff_can_be_looked_up(http, served):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    asked = await http.post("/agents/a/handoffs", json={"to": "shop", "at": "OPEN", "mode": "delegate"})
    assert asked.status_code == 202
    found = (await http.get("/handoffs", params={"source": "a"})).json()["handoffs"]
    assert [each["handoff"] for each in found] == [asked.json()["handoff"]]
    cancelled = await http.post("/handoffs/nothing/cancel", json={"reason": "x"})
    assert (cancelled.status_code, cancelled.json()["error"]) == (404, "NoHandoffError")


NOBODY = Best(Needs(domains=("moon",)))
ANNA = {"id": "anna", "graph": "shop", "at": "OPEN", "is_person": True, "capacity": 1}


async def test_work_is_handed_on_to_somebody_in_the_directory_or_to_the_best(http, served):
    await http.post("/directory", json=ANNA)
    for agent, best in (("a", {"entries": ["anna"]}), ("b", {"tier": 9})):
        await http.post("/agents", json={**CASE, "agent_id": agent})
        asked = await http.post(f"/agents/{agent}/handoffs", json={"best": best})
        assert asked.status_code == 202
        row = (await http.get("/handoffs", params={"handoff_id": asked.json()["handoff"]})).json()["handoffs"]
        assert [each["source"] for each in row] == [agent]


async def test_work_is_handed_on_with_fallbacks(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    steps = [{"kind": "same_target", "attempts": 2}, {"kind": "human", "graph": "shop", "entry_point": "OPEN"}]
    for target in ({"to": "shop", "at": "OPEN"}, {"best": {"tier": 9}}):
        asked = await http.post("/agents/a/handoffs", json={**target, "fallbacks": steps})
        assert asked.status_code == 202, asked.text


@pytest.mark.parametrize("deadline", ["2999-01-01T12:00:00+02:00", "30s", "PT1H30M", 90])
async def test_work_is_handed_on_with_a_deadline_that_is_a_time_or_a_delay(deadline, http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    asked = await http.post("/agents/a/handoffs", json={"to": "shop", "at": "OPEN", "deadline": deadline})
    assert asked.status_code == 202, asked.text


@pytest.mark.parametrize("deadline", ["soon", "90", "+90", -1, "2999-01-01", "2999-01-01T12:00:00", True, 1e11])
async def test_a_deadline_that_is_neither_a_time_nor_a_delay_is_answered_with_what_is_one(deadline, http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    refused = await http.post("/agents/a/handoffs", json={"to": "shop", "at": "OPEN", "deadline": deadline})
    told = "a time, such as '2030-01-31T09:00:00Z', or a delay: '500ms', '30s', '1h30m', '2d' or 'PT1H30M', or seconds"
    assert refused.json()["message"] == f"the body is invalid: deadline: Input should be {told}"
    assert (await http.get("/handoffs")).json()["handoffs"] == []


async def test_a_client_hands_on_with_every_kind_of_fallback(client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    steps = SameTarget(attempts=1), OtherGraph("shop", at="OPEN"), Best(Needs(tier=9)), Human("shop", at="OPEN")
    for target in (
        Handoff("shop", at="OPEN", fallbacks=Fallbacks(*steps)),
        Handoff(NOBODY, fallbacks=Fallbacks(*steps)),
    ):
        handoff_id = await client.handoff("a", target)
        tried = await client.handoffs(handoff_id=handoff_id)
        assert fallbacks_of(read_packet(tried[0].packet).fallbacks) == Fallbacks(*steps)


async def test_a_selection_without_weights_goes_by_what_usually_decides_also_as_a_fallback(http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    nobody, usual = {"tier": 9}, dict(WEIGHTS)
    steps = [{"kind": "best"}, {"kind": "best", "selection": {"weights": {}}}]
    asked = await http.post("/agents/a/handoffs", json={"best": nobody, "fallbacks": steps})
    (row, *_) = (await http.get("/handoffs", params={"handoff_id": asked.json()["handoff"]})).json()["handoffs"]
    assert row["packet"]["selection"]["weights"] == usual
    assert [each["selection"].get("weights", {}) for each in row["packet"]["fallbacks"]] == [usual, {}]


def nearness(packet, candidate):
    return 1.0


def is_near(packet, candidate):
    return True


async def test_a_client_hands_on_by_the_functions_of_the_agents_graph(place):
    own = Best(scorers={nearness: 1.0}, filters=is_near)
    near = StateTransitionGraph(
        "near", transitions=[Transition("OPEN", "ASKED", "WAITING", actions=Handoff(own))], entry_points=["OPEN"]
    )
    async with serving(place, graphs=[near]) as served, HttpClient(served.url) as client:
        await client.start("near", at="OPEN", agent_id="a")
        for home in (client, served.runtime):
            for best in (own, Best(order="nearness", filters="is_near")):
                assert await home.handoff("a", Handoff(best))


async def test_a_client_hands_on_by_every_scorer_and_filter_there_is(client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    for best in (Best(scorers=dict.fromkeys(SCORERS, 1.0), filters=FILTERS), Best(order=SCORERS, least=0.5)):
        assert await client.handoff("a", Handoff(best))


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"best": {"order": ["nearness"]}}, 404, "no scorer is named 'nearness'"),
        ({"best": {"filters": ["load"]}}, 404, "no filter is named 'load'"),
        ({"best": {"domains": [""]}}, 422, "best.domains.0: String should have at least 1 character"),
        ({"best": {"entries": ["bert"]}}, 404, "no entry 'bert'"),
        ({"best": {}, "to": "shop", "at": "OPEN"}, 422, "both best= and to=, at= or agent= name a target"),
        ({}, 422, "the handoff has no target. Expected: a graph as to= with its entry point as at=, or best="),
        ({"to": "shop"}, 422, "the handoff has no target"),
    ],
)
async def test_a_handoff_without_one_target_is_refused(body, status, told, http):
    await http.post("/agents", json={**CASE, "agent_id": "a"})
    refused = await http.post("/agents/a/handoffs", json=body)
    assert (refused.status_code, told in refused.text) == (status, True), refused.text
    assert (await http.get("/handoffs")).json()["handoffs"] == []


async def test_pages_of_agents_follow_one_another(http):
    for number in range(5):
        await http.post("/agents", json={**CASE, "agent_id": f"a{number}"})
    first = (await http.get("/agents", params={"limit": 3})).json()
    second = (await http.get("/agents", params={"limit": 3, "after": first["next"]})).json()
    assert [each["agent_id"] for each in first["agents"] + second["agents"]] == [f"a{n}" for n in range(5)]
    assert second["next"] is None
