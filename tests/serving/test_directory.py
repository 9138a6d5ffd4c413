"""The directory over HTTP and in the client, and who may register there."""

import json
import re

import httpx
import pytest

from gatechart import HandoffPacket, Limits
from gatechart.clients import HttpClient
from gatechart.errors import EntryTakenError, PayloadError, UnknownEntryError
from gatechart.hosting.own_agents import own_agents_of
from gatechart.serving import ServerLimits, read_registrants
from gatechart.serving.access import Access, CallerNameError, Pace, RegistrantsError, TokenError
from gatechart.serving.answers import NotServed
from gatechart.values.directory import OUTCOME, Mark
from gatechart.values.profiles import Hours, Needs, Profile
from gatechart.values.tool_policies import Rate
from tests.serving.conftest import TOKEN, serving
from tests.serving.shop import graphs

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

ANNA = {
    "id": "anna",
    "graph": "shop",
    "at": "OPEN",
    "profile": {"capabilities": ["talk"], "tier": 3, "schedule": [{"days": ["MON"], "begins": "09:00"}]},
    "is_person": True,
    "capacity": 4,
}
CRM, ERP = "a-token-for-the-crm-alone", "a-token-for-the-erp-alone"


async def test_an_entry_is_registered_listed_marked_and_deregistered(http):
    made = await http.post("/directory", json=ANNA)
    assert made.status_code == 200
    told = made.json()
    assert (told["id"], told["agent_id"], told["candidate"]["capacity"]) == ("anna", "directory:anna", 4)
    assert told["candidate"]["profile"]["schedule"][0]["begins"] == "09:00"
    assert (await http.get("/directory")).json() == {"entries": [told], "next": None}
    assert (await http.get("/directory", params={"id": "bert"})).json()["entries"] == []
    marked = await http.post("/directory/anna/mark", json={"mark": "closed", "reason": "holiday"})
    assert (marked.status_code, marked.json()["mark"], marked.json()["unavailable"]) == (
        200,
        "closed",
        "closed: holiday",
    )
    assert (await http.delete("/directory/anna")).status_code == 204
    assert (await http.get("/directory")).json()["entries"] == []
    gone = await http.delete("/directory/anna")
    assert (gone.status_code, gone.json()["error"]) == (404, "UnknownEntryError")


async def test_a_choice_by_a_filter_that_the_asking_graph_does_not_have_is_not_found(http):
    said = await http.post("/choices", json={"packet": {"selection": {"filters": ["persons"]}}})
    assert (said.status_code, said.json()["error"]) == (404, "UnknownSelectorError")
    assert "did you mean 'person'?" in said.json()["message"]


async def test_a_client_reads_what_the_server_wrote(client):
    profile = Profile(
        ("talk",), samples=("a human, please",), schedule=(Hours(("MON",), "09:00", "17:00"),), cost=2.5, expected_s=60
    )
    made = await client.register_entry("anna", "shop", at="OPEN", profile=profile, text="people", lasts="5m")
    assert (made.candidate.profile, made.candidate.text, made.registrant) == (profile, "people", "")
    assert made.expires is not None
    assert await client.directory() == (made,)
    assert (await client.mark_entry("anna", Mark.PINNED)).candidate.is_pinned
    with pytest.raises(EntryTakenError, match="anna"):
        await client.register_entry("anna", "shop", at="OPEN", registrant="crm")
    await client.deregister_entry("anna")
    with pytest.raises(UnknownEntryError, match="anna"):
        await client.mark_entry("anna", Mark.PINNED)
    with pytest.raises(PayloadError):
        await client.register_entry("anna", "shop", at="OPEN", profile=Profile(schedule=(Hours(zone="Mars"),)))


async def test_a_dry_run_is_answered_with_the_reasons(http, client):
    await http.post("/directory", json={**ANNA, "profile": {"domains": ["bills"]}})
    chosen = (await http.post("/choices", json={"needs": {"domains": ["bills"]}})).json()
    assert (chosen["candidate"]["id"], chosen["explanation"]["needs"]["domains"]) == ("anna", ["bills"])
    assert (await http.post("/choices", json={"needs": {"domain": ["bills"]}})).status_code == 422
    nobody = await client.choose(HandoffPacket(current_problem="?"), needs=Needs(domains=("moon",)))
    assert nobody.candidate is None
    assert [(each.id, each.fell) for each in nobody.explanation.judged] == [("anna", "domain: not moon")]
    await client.forget_user("ada/b")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("wrong", "status", "error"),
    [
        ({"graph": "bazaar"}, 404, "UnknownGraphError"),
        ({"at": "SHUT"}, 422, "EntryRefusedError"),
        ({"profile": {"capabilites": ["talk"]}}, 422, "BadRequest"),
        ({"profile": {"schedule": [{"days": ["SOMEDAY"]}]}}, 422, "BadRequest"),
        ({"capacity": -1}, 422, "BadRequest"),
        ({"lasts": "soon"}, 422, "BadRequest"),
        ({"profile": {"schedule": [{"zone": "Mars"}]}}, 422, "PayloadError"),
        ({"id": ""}, 422, "BadRequest"),
    ],
)
async def test_what_cannot_be_registered_is_refused(http, wrong, status, error):
    refused = await http.post("/directory", json={**ANNA, **wrong})
    assert (refused.status_code, refused.json()["error"]) == (status, error)
    assert (await http.get("/directory")).json()["entries"] == []


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lasts": "soon"}, "lasts: Input should be '500ms', '30s', '1h30m', '2d' or 'PT1H30M', or seconds"),
        (
            {"profile": {"schedule": [{"begins": "9 am"}]}},
            "profile.schedule.0.begins: Input should be a time of day, such as '09:00'",
        ),
        ({"lasts": -1}, "lasts: Input should be '500ms', '30s', '1h30m', '2d' or 'PT1H30M', or seconds"),
        (
            {"id": "an\nna"},
            "id: Input should be a text of 1 to 200 characters, without control characters and line breaks",
        ),
    ],
)
async def test_what_cannot_be_registered_is_answered_with_what_can(http, wrong, told):
    refused = await http.post("/directory", json={**ANNA, **wrong})
    assert refused.json()["message"] == f"the body is invalid: {told}"


async def test_a_registrant_may_register_and_nothing_else():
    async with serving(token=TOKEN, registrants={"crm": CRM, "erp": ERP}) as served:
        async with (
            HttpClient(served.url, token=CRM) as crm,
            HttpClient(served.url, token=ERP) as erp,
            HttpClient(served.url, token=TOKEN) as owner,
        ):
            made = await crm.register_entry("bot", "shop", at="OPEN", registrant="somebody")
            assert made.registrant == "crm"  # whatever it says
            with pytest.raises(EntryTakenError, match="crm"):
                await erp.register_entry("bot", "shop", at="OPEN")
            with pytest.raises(EntryTakenError, match="crm"):
                await erp.deregister_entry("bot")
            assert [each.registrant for each in await owner.directory()] == ["crm"]
            await crm.deregister_entry("bot")
        async with httpx.AsyncClient(base_url=served.url, headers={"authorization": f"Bearer {CRM}"}) as http:
            for method, path in (
                ("GET", "/directory"),
                ("GET", "/agents"),
                ("POST", "/directory/bot/mark"),
                ("POST", "/agents"),
                ("GET", "/changes"),
                ("GET", "/agents/a/invokes/b/stream"),
            ):
                refused = await http.request(method, path)
                assert (path, refused.status_code, refused.json()["error"]) == (path, 403, "Forbidden")
            http.headers["authorization"] = "Bearer wrong"
            assert (await http.post("/directory", json=ANNA)).status_code == 401


async def test_a_registrant_registers_no_oftener_than_allowed():
    limits = ServerLimits(registrations="3/min")
    async with serving(token=TOKEN, registrants={"crm": CRM, "erp": ERP}, server=limits) as served:
        bearer = {"authorization": f"Bearer {CRM}"}
        async with httpx.AsyncClient(base_url=served.url, headers=bearer) as http:
            statuses = [(await http.post("/directory", json=ANNA)).status_code for _ in range(4)]
            assert statuses == [200, 200, 200, 429]
            refused = await http.post("/directory", json=ANNA)
            assert (refused.json()["error"], int(refused.headers["retry-after"]) > 0) == ("TooManyRegistrations", True)
            http.headers["authorization"] = f"Bearer {ERP}"
            assert (await http.post("/directory", json={**ANNA, "id": "bert"})).status_code == 200
            http.headers["authorization"] = f"Bearer {TOKEN}"
            assert (await http.post("/directory", json={**ANNA, "id": "carla"})).status_code == 200


def test_a_pace_lets_through_again_after_its_time():
    now = 0.0
    pace = Pace(Rate.of("2/min"), lambda: now)
    pace.check("crm")
    now = 30.0
    pace.check("crm")
    with pytest.raises(NotServed, match="try again in 30 s"):
        pace.check("crm")
    now = 60.0
    pace.check("crm")


def test_registrants_are_read_from_a_file(tmp_path):
    file = tmp_path / "registrants"
    file.write_text(f"crm {CRM}\n\nerp {ERP}\n")
    assert read_registrants(file, TOKEN) == {"crm": CRM, "erp": ERP}
    assert read_registrants(None, None) == {}


def test_what_is_wrong_with_a_file_of_registrants_is_told_with_its_line(tmp_path):
    file = tmp_path / "registrants"
    for text, token, fault in (
        (f"crm {CRM} x", TOKEN, "'crm' has more than a name and a token"),
        (f"crm {CRM}\nerp", TOKEN, "'erp' has no token"),
        (f"crm {CRM}\ncrm {ERP}", TOKEN, "'crm': it is listed twice"),
        (f"bot-1 {CRM}\nbot-l {ERP}", TOKEN, "'bot-l': it looks like 'bot-1'"),
        (f"c\x08rm {CRM}", TOKEN, "it has U\\+0008, a control character"),
        (f"crm {CRM}\nerp {CRM}", TOKEN, "tokens must be unique, and these are not: 'crm', 'erp'"),
        (f"crm {TOKEN}\nerp {ERP}", TOKEN, "tokens must be unique, and these are not: 'crm'"),
        (" \n\n", TOKEN, "the file is empty"),
        (f"crm {CRM}", None, "the server itself has no token"),
        ("crm \xe9", TOKEN, "the file has characters that an HTTP header cannot hold"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(RegistrantsError, match=f"{fault}; write a name and a token"):
            read_registrants(file, token)
    file.write_text(f"crm {CRM}\nerp short\n")
    with pytest.raises(TokenError, match="registrants, of 'erp': it has only 5 characters"):
        read_registrants(file, TOKEN)
    with pytest.raises(RegistrantsError, match="missing': the file cannot be read: No such file or directory"):
        read_registrants(tmp_path / "missing", TOKEN)


@pytest.mark.parametrize("name", ["\N{CYRILLIC SMALL LETTER ES}rm", "crm\N{ZERO WIDTH SPACE}", "ＣＲＭ", "CRM"])
def test_no_caller_has_a_name_that_could_be_mistaken(name):
    for roles in ({"registrants": {"crm": CRM, name: ERP}}, {"registrants": {"crm": CRM}, "operators": {name: ERP}}):
        with pytest.raises(CallerNameError, match="distinct from the other names"):
            Access(TOKEN, **roles)
    Access(TOKEN, registrants={"crm": CRM}, operators={"crm": ERP})


async def test_a_registrant_has_no_more_entries_than_the_home_allows():
    headers = {"authorization": f"Bearer {CRM}"}
    async with (
        serving(token=TOKEN, registrants={"crm": CRM}, limits=Limits(entries=2)) as served,
        httpx.AsyncClient(base_url=served.url, headers=headers) as http,
    ):
        for number in range(2):
            assert (await http.post("/directory", json={**ANNA, "id": f"person-{number}"})).status_code == 200
        refused = await http.post("/directory", json={**ANNA, "id": "bert"})
        assert (refused.status_code, refused.json()["error"]) == (429, "TooManyEntriesError")
        assert "--max-entries" in refused.json()["message"]


@pytest.mark.parametrize(
    ("wrong", "status", "error"),
    [
        ({"id": "ANNA"}, 409, "LookAlikeError"),
        ({"id": "an\u200bna"}, 422, "PayloadError"),
        ({"id": "b", "capacity": 2**63}, 422, "BadRequest"),
        ({"id": "b", "profile": {"tier": 10**9}}, 422, "BadRequest"),
        ({"id": "b", "profile": {"cost": 1e300}}, 422, "BadRequest"),
        ({"id": "b", "profile": {"expected_s": 1e300}}, 422, "BadRequest"),
    ],
)
async def test_what_is_beyond_the_bounds_is_refused(http, wrong, status, error):
    await http.post("/directory", json=ANNA)
    refused = await http.post("/directory", json=ANNA | wrong)
    assert (refused.status_code, refused.json()["error"]) == (status, error)
    assert len((await http.get("/directory")).json()["entries"]) == 1


async def test_a_registrant_learns_nothing_of_the_work_of_its_entry():
    async with serving(token=TOKEN, registrants={"crm": CRM}) as served:
        await served.runtime.register_entry("bot", "shop", at="OPEN", registrant="crm")
        outcome = {"handoff": "h1", "ended": "completed", "user": "ada", "source": "orders-1", "kind": "refunds"}
        await own_agents_of(served.runtime).send("directory:bot", OUTCOME, outcome)
        await served.runtime.mark_entry("bot", "excluded", reason="it guesses")
        async with httpx.AsyncClient(base_url=served.url, headers={"authorization": f"Bearer {CRM}"}) as http:
            renewed = await http.post("/directory", json={"id": "bot", "graph": "shop", "at": "OPEN"})
            elsewhere = await http.post("/directory", json={"id": "bot", "graph": "shopp", "at": "OPEN"})
        [entry] = await served.runtime.directory("bot")
    assert (entry.outcomes[0].user, entry.candidate.users) == ("ada", ("ada",))
    assert (renewed.json()["completed"], renewed.json()["unavailable"]) == (1, "excluded")
    assert not {"ada", "orders-1", "h1", "it guesses"} & set(words_of(renewed.json()))
    assert elsewhere.json()["message"] == "no graph is named 'shopp'"


async def test_a_registrant_cannot_find_out_of_which_graph_an_agent_is():
    async with serving(token=TOKEN, registrants={"crm": CRM}) as served:
        agent = await served.runtime.start("shop", at="OPEN", payload={"name": "Anna"})
        async with httpx.AsyncClient(base_url=served.url, headers={"authorization": f"Bearer {CRM}"}) as http:
            body = {"id": "bot", "graph": "shop", "at": "OPEN"}
            assert (await http.post("/directory", json={**body, "agent": agent.id})).status_code == 200
            errors = [
                (await http.post("/directory", json={**body, "id": "other", "agent": name})).json()
                for name in ("directory:bot", "directory:bob")
            ]
    assert {error["error"] for error in errors} == {"FrameworkAgentError"}


def words_of(document):
    """Return all texts in a JSON document."""
    if isinstance(document, dict | list):
        parts = document.values() if isinstance(document, dict) else document
        return [word for part in parts for word in words_of(part)]
    return [document] if isinstance(document, str) else []


async def test_the_document_of_a_registrant_has_its_own_calls_alone():
    monitor = "a-token-for-the-monitor"
    async with serving(token=TOKEN, registrants={"crm": CRM}, alarmists={"monitor": monitor}) as served:
        documents = {}
        for token in (TOKEN, CRM, monitor):
            async with httpx.AsyncClient(base_url=served.url, headers={"authorization": f"Bearer {token}"}) as http:
                documents[token] = (await http.get("/openapi.json")).json()
    health = {"/health/live", "/health/ready"}
    assert set(documents[CRM]["paths"]) == {"/directory", "/directory/{id}"} | health
    assert set(documents[CRM]["paths"]["/directory"]) == {"post"}
    assert set(documents[CRM]["paths"]["/directory/{id}"]) == {"delete"}
    assert set(documents[monitor]["paths"]) == {"/alarms"} | health
    own = {name for graph in graphs for name in (graph.name, *graph.nodes, *graph.event_types)}
    assert own & set(words_of(documents[TOKEN]))
    for token in (CRM, monitor):
        assert not own & set(words_of(documents[token]))
        assert "Case" not in documents[token]["components"]["schemas"]
        used = set(re.findall("#/components/schemas/([A-Za-z0-9_]+)", json.dumps(documents[token])))
        assert used == set(documents[token]["components"]["schemas"])
    places = documents[CRM]["components"]["schemas"]["RegisterEntryBody"]["properties"]["capacity"]["anyOf"][0]
    assert (places["minimum"], places["maximum"]) == (0, 1_000_000)
    assert documents[CRM]["components"]["schemas"]["CanDo"]["properties"]["tier"]["anyOf"][0]["maximum"] == 1_000
