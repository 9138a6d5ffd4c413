"""What the pages show of a real home of agents. How they are served is in tests/serving/test_pages.py."""

import re
from html import unescape

import pytest

from gatechart import Runtime
from gatechart.api.choice_tables import choice_table
from gatechart.api.descriptions import explanation_in
from gatechart.console import PAGES, html_of
from gatechart.console.pages import directory_page, entry_page, handoff_page, handoffs_page
from gatechart.errors import NoHandoffError, PayloadError, UnknownEntryError
from gatechart.testing import VirtualClock
from gatechart.values.frozen import replaced
from tests.console.teams import ask, graphs
from tests.runtime.handovers import rest
from tests.runtime.spoiling import by_hand


@pytest.fixture
async def runtime():
    async with Runtime.open("memory:", graphs=graphs, clock=VirtualClock()) as opened:
        yield opened


async def shown(page, runtime, **asked):
    """The page as HTML."""
    return html_of(await page(runtime, asked), "")


def rows_of(html):
    """The cells of every row of a page's tables, as a person reads them."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)] for row in rows]


def text_of(html):
    return unescape(re.sub(r"<[^>]+>", "", html)).strip()


async def test_a_handoff_is_shown_with_every_candidate_its_scores_or_why_it_fell_out(runtime):
    (handoff,) = await ask(runtime, "I want my money back")
    html = await shown(handoff_page, runtime, handoff_id=handoff.id)
    rows = rows_of(html)
    start = rows.index(["Candidate", "load", "cost", "Why it fell out"])
    assert rows[start + 1 : start + 4] == [
        ["refunds.WORKING", "1.00", "1.00", ""],
        ["experts.WORKING", "1.00", "0.17", ""],
        ["orders.WORKING", "", "", "domain: not refunds"],
    ]
    assert re.search(r'<tr class="chosen">\s*<td><a href="/console/directory/refunds.WORKING">', html)
    assert re.search(r'<tr class="fell">\s*<td><a href="/console/directory/orders.WORKING">', html)
    assert "refunds.WORKING is the best of 2 that fit (load 1.00, cost 1.00)" in html


async def test_a_handoff_is_shown_with_what_was_handed_over(runtime):
    (handoff,) = await ask(runtime, "I want my money back")
    html = await shown(handoff_page, runtime, handoff_id=handoff.id)
    for told in ("I want my money back", "ada", "look_up(id=7) → [1]", "in the list → nothing", "A-7"):
        assert told in unescape(html)


async def test_a_choice_of_nobody_is_shown_with_its_reasons_and_leads_to_the_next_attempt(runtime):
    nobody, taken = await ask(runtime, "My fridge hums")
    html = await shown(handoff_page, runtime, handoff_id=nobody.id)
    assert ["refunds.WORKING", "rule: no rule applies to the work"] in rows_of(html)
    assert f'href="/console/handoffs/{taken.id}"' in html
    assert ["human", "people at WORKING"] in rows_of(html)


async def test_of_many_attempts_the_first_are_shown_with_a_way_to_all_of_them(runtime):
    agent = await runtime.start("insisting", at="LISTENING")
    await agent.send("ASKED", {"text": "Is anybody there?"})
    await rest(runtime)
    made = [each.id for each in await runtime.handoffs(source=agent.id)]
    assert len(made) == 60
    html = await shown(handoff_page, runtime, handoff_id=made[-1])
    assert re.findall(r'<li><a href="/console/handoffs/(\w+)">', html) == made[:50]
    assert f'<a href="/console/handoffs?request={made[0]}">All attempts</a>' in html
    html = await shown(handoffs_page, runtime, request=made[0])
    assert re.findall(r"<code>(\w+)</code>", html) == made[:9:-1]
    assert f"request={made[0]}&amp;after=" in html
    html = await shown(handoffs_page, runtime, request="none")
    assert "No handoffs found." in html


@pytest.mark.parametrize("packet", [{}, {"conversation": "nope", "mood": "fine"}])
async def test_a_packet_that_cannot_be_read_is_shown_as_it_is_stored(runtime, packet):
    (handoff,) = await ask(runtime, "I want my money back")
    html = html_of(await handoff_page(Holding(replaced(handoff, packet=packet)), {"handoff_id": handoff.id}), "")
    assert "refunds.WORKING is the best of 2 that fit" in html
    assert [[name, str(told)] for name, told in packet.items()] == [row for row in rows_of(html) if row[0] in packet]


async def test_a_choice_that_cannot_be_read_is_shown_as_it_is_stored(runtime):
    (handoff,) = await ask(runtime, "I want my money back")
    stored = replaced(handoff, choice={"judged": "everybody"})
    html = html_of(await handoff_page(Holding(stored), {"handoff_id": handoff.id}), "")
    assert 'this release cannot read {"judged": "everybody"}' in unescape(html)


class Holding:
    """A home that holds one handoff."""

    def __init__(self, handoff):
        self._handoff = handoff

    async def handoffs(self, **_):
        return [self._handoff]


async def test_a_choice_by_weights_shows_the_total_and_what_a_learned_score_is_made_of():
    why = {
        "needs": {},
        "judged": [
            {"id": "a", "total": 0.9, "scores": [["learned", 0.9]], "parts": [["prior", 0.8], ["bonus", 0.1]]},
            {"id": "b", "fell": "hours: closed"},
        ],
        "tied": ["a", "c"],
        "seed": "x1",
        "left_out": 3,
    }
    table = choice_table(explanation_in(why))
    assert table.headings == ("total", "learned")
    assert [each.scores for each in table.rows] == [("0.90", "0.90 (prior 0.80, bonus 0.10)"), ("", "")]
    assert dict(table.facts)["drawn from"] == "a, c, by the seed x1"
    assert table.left_out == 3


async def test_handoffs_are_listed_the_newest_first_and_those_before_them_are_a_page_away(runtime):
    made = [(await ask(runtime, "I want my money back"))[0].id for _ in range(52)]
    html = await shown(handoffs_page, runtime)
    listed = re.findall(r"<code>(\w+)</code>", html)
    assert listed == made[:1:-1]
    (older,) = re.findall(r'href="/console/handoffs\?([^"]+)"', html)
    after = re.search(r"after=(\d+)", older)[1]
    html = await shown(handoffs_page, runtime, after=after)
    assert re.findall(r"<code>(\w+)</code>", html) == made[1::-1]
    assert "Older handoffs" not in html


async def test_a_handoff_whose_changes_are_gone_is_listed_as_unreadable_among_the_others(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=graphs, clock=VirtualClock()) as runtime:
        damaged, sound = [(await ask(runtime, "I want my money back"))[0].id for _ in range(2)]
        await by_hand(sqlite_url, f"UPDATE handoffs SET changes = '[]' WHERE id = '{damaged}'", "SELECT 1")
        rows = rows_of(await shown(handoffs_page, runtime))
        assert [row[:2] for row in rows[1:]] == [[sound, "accepted"], [damaged, "unreadable"]]
        assert rows[2][2] == "unknown"
        assert "cannot be read (changes is empty)" in await shown(handoff_page, runtime, handoff_id=damaged)


async def test_parts_of_a_learned_score_that_is_missing_are_shown_alone():
    table = choice_table(explanation_in({"needs": {}, "judged": [{"id": "a", "parts": [["prior", 0.8]]}]}))
    assert [each.scores for each in table.rows] == [("(prior 0.80)",)]


async def test_handoffs_are_listed_by_status_and_by_agent(runtime):
    nobody, taken = await ask(runtime, "My fridge hums")
    await ask(runtime, "I want my money back")
    for asked in ({"status": "rejected"}, {"source": nobody.source, "status": "rejected", "target": ""}):
        html = await shown(handoffs_page, runtime, **asked)
        assert re.findall(r"<code>(\w+)</code>", html) == [nobody.id]
        assert '<option value="rejected" selected>' in html
    html = await shown(handoffs_page, runtime, target=taken.target)
    assert re.findall(r"<code>(\w+)</code>", html) == [taken.id]
    assert "No handoffs found." in await shown(handoffs_page, runtime, source="nobody")


async def test_the_directory_is_shown_with_work_performance_and_what_an_operator_decided(runtime):
    await runtime.register_entry("anna", "people", at="WORKING", capacity=4, is_person=True)
    await runtime.mark_entry("orders.WORKING", "closed", reason="stocktaking")
    await ask(runtime, "I want my money back")
    rows = {row[0]: row for row in rows_of(await shown(directory_page, runtime))}
    assert rows["refunds.WORKING"] == [
        "refunds.WORKING",
        "refunds at WORKING",
        "process_refund, refunds",
        "2",
        "1",
        "1.00",
        "yes",
    ]
    assert rows["anna"][4] == "0 of 4"
    assert "stocktaking" in rows["orders.WORKING"][6]


async def test_an_entry_is_shown_with_its_work_and_the_ratings_of_it(runtime):
    (handoff,) = await ask(runtime, "I want my money back")
    await runtime.send(handoff.target, "SOLVED")
    await rest(runtime)
    await runtime.rate_handoff(handoff.id, needed=True, in_time=False, quality=0.9)
    html = await shown(entry_page, runtime, entry="refunds.WORKING")
    ended = next(row for row in rows_of(html) if row[1] == handoff.id)
    assert ended[2:] == ["completed", "ada", handoff.source, "yes", "no", "0.9"]


async def test_an_empty_home_has_pages_that_say_so():
    async with Runtime.open("memory:", graphs=graphs[:1]) as empty:
        assert "No handoffs found." in await shown(handoffs_page, empty)
        assert "The directory is empty." in await shown(directory_page, empty)


@pytest.mark.parametrize(
    ("page", "asked", "error"),
    [
        (handoff_page, {"handoff_id": "none"}, NoHandoffError),
        (entry_page, {"entry": "none"}, UnknownEntryError),
        (handoffs_page, {"status": "lost"}, PayloadError),
        (handoffs_page, {"after": "yesterday"}, PayloadError),
    ],
)
async def test_what_there_is_not_is_an_error(runtime, page, asked, error):
    with pytest.raises(error):
        await page(runtime, asked)


async def test_texts_from_outside_are_neither_markup_nor_turn_the_direction_of_others(runtime):
    (handoff,) = await ask(runtime, "<script>alert(1)</script> money back \u202eevil\nnext line")
    html = await shown(handoff_page, runtime, handoff_id=handoff.id)
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; money back \\u202eevil\nnext line" in html


async def test_ids_that_are_hard_to_write_in_a_path_lead_to_their_entry(runtime):
    await runtime.register_entry("a/b ?&<ü>", "people", at="WORKING")
    html = await shown(directory_page, runtime)
    assert 'href="/console/directory/a%2Fb%20%3F%26%3C%C3%BC%3E"' in html


def test_each_page_has_a_path():
    assert {handoffs_page, handoff_page, directory_page, entry_page} == set(PAGES.values())
