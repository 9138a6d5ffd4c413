"""The console over HTTP: who gets in, errors as pages, links that lead somewhere. Their content: tests/console."""

import re

import httpx
import pytest

from gatechart.serving import Application, Lifecycle
from tests.console.teams import ask, graphs
from tests.serving.conftest import TOKEN, serving
from tests.serving.mounting import mounted, mounted_twice

PASSWORD = httpx.BasicAuth("anybody", TOKEN)


@pytest.fixture
async def served():
    async with serving(graphs=graphs, token=TOKEN, registrants={"crm": "the-token-of-the-crm"}) as found:
        await ask(found.runtime, "I want my money back")
        await ask(found.runtime, "My fridge hums")
        yield found


@pytest.fixture
async def browser(served):
    async with httpx.AsyncClient(base_url=served.url, trust_env=False, auth=PASSWORD) as client:
        yield client


async def test_every_link_of_the_console_leads_to_a_page(browser):
    seen, to_see = set(), ["/console"]
    while to_see:
        path = to_see.pop()
        seen.add(path)
        answer = await browser.get(path, follow_redirects=True)
        assert answer.status_code == 200, path
        to_see += set(re.findall(r'(?:href|action)="([^"]+)"', answer.text)) - seen - set(to_see)
    assert len(seen) == 1 + 2 + 1 + 3 + 3  # the beginning, lists, style, handoffs and entries


async def test_the_console_is_found_with_a_slash_behind_it_too(browser):
    answer = await browser.get("/console/", follow_redirects=True)
    assert (answer.status_code, answer.url.path) == (200, "/console/handoffs")


async def test_a_browser_asks_for_the_token_as_a_password(browser):
    asked = await browser.get("/console/handoffs", auth=httpx.BasicAuth("", ""))
    assert asked.status_code == 401
    assert asked.headers["www-authenticate"].startswith("Basic ")
    assert "give the server&#39;s token as the password" in asked.text
    assert (await browser.get("/console/handoffs")).status_code == 200


@pytest.mark.parametrize("given", ["Basic", "Basic !", "Basic YQ==", "Basic /w==", "Bearer", "", "basic Og=="])
async def test_a_password_that_is_none_does_not_get_in(browser, given):
    answer = await browser.get("/console/handoffs", auth=lambda request: _with(request, given))
    assert answer.status_code == 401


def _with(request, authorization):
    request.headers["authorization"] = authorization
    return request


async def test_a_program_sends_its_token_as_to_other_paths(browser):
    answer = await browser.get("/console/handoffs", auth=lambda request: _with(request, f"Bearer {TOKEN}"))
    assert answer.status_code == 200


async def test_a_password_opens_the_console_alone_so_no_other_page_can_have_a_browser_change_anything(browser):
    assert (await browser.get("/handoffs")).status_code == 401
    assert (await browser.post("/agents", json={"graph": "people", "at": "WORKING"})).status_code == 401


async def test_who_may_only_register_sees_no_page(browser):
    answer = await browser.get("/console/directory", auth=httpx.BasicAuth("crm", "the-token-of-the-crm"))
    assert answer.status_code == 403
    assert "may only register" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status", "told"),
    [
        ("GET", "/console/handoffs/none", 404, "handoff &#39;none&#39;: there is none"),
        ("GET", "/console/directory/none", 404, "the directory has no entry &#39;none&#39;"),
        ("GET", "/console/handoffs?status=lost", 422, "&#39;choosing&#39;, &#39;pending&#39;"),
        ("GET", "/console/agents", 404, "there is no such page"),
        ("GET", "/console/directory/%ff", 400, "the path is not valid UTF-8"),
        ("POST", "/console/handoffs", 405, "it allows GET, HEAD"),
    ],
)
async def test_an_error_is_a_page(browser, method, path, status, told):
    answer = await browser.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert told in answer.text
    assert '<a href="/console/handoffs">' in answer.text


async def test_a_page_asks_nobody_for_anything_and_is_in_no_frame(browser):
    headers = (await browser.get("/console/handoffs")).headers
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert headers["cache-control"] == "no-store"


async def test_head_has_the_headers_of_a_page(browser):
    answer = await browser.head("/console/handoffs")
    assert (answer.status_code, answer.text) == (200, "")


async def test_while_the_server_starts_a_page_says_so():
    asgi = httpx.ASGITransport(Application(Lifecycle(), graphs))
    async with httpx.AsyncClient(transport=asgi, base_url="http://127.0.0.1") as client:
        answer = await client.get("/console/handoffs")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "the server is starting" in answer.text


async def test_without_a_token_pages_of_other_sites_are_refused(served):
    asgi = httpx.ASGITransport(Application(served.lifecycle, graphs))
    async with httpx.AsyncClient(transport=asgi, base_url="http://127.0.0.1") as client:
        assert (await client.get("/console/handoffs")).status_code == 200
        answer = await client.get("/console/handoffs", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    assert "a server without a token refuses" in answer.text


@pytest.mark.parametrize(("wrap", "root"), [(mounted, "/gc"), (mounted_twice, "/api/gc")])
async def test_below_a_path_links_begin_with_it(served, wrap, root):
    asgi = httpx.ASGITransport(wrap(Application(served.lifecycle, graphs)))
    async with httpx.AsyncClient(transport=asgi, base_url="http://127.0.0.1") as client:
        answer = await client.get(f"{root}/console", follow_redirects=True)
    assert answer.status_code == 200
    links = re.findall(r'(?:href|action)="([^"]+)"', answer.text)
    assert links
    assert all(each.startswith(f"{root}/console/") for each in links)
