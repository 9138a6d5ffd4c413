"""`gatechart handoff` and `gatechart handoffs`: operators hand on work; handoffs are listed, shown, cancelled."""

import asyncio
import re
import sqlite3
from contextlib import closing

import pytest

from gatechart import (
    EntryPoint,
    Fallbacks,
    Handoff,
    Human,
    OtherGraph,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.selection import Best, Needs, Profile
from gatechart.values.homes import Role
from tests.cli.homes import on_both
from tests.contrib.human_desk.support import answered
from tests.contrib.human_desk.support import office as office_graphs
from tests.runtime.support import eventually

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def office(folder, prepare):
    """A project whose agents hand work to each other, and one of them."""
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "tests.contrib.human_desk.support:office"\n')
    prepare(("start", "orders", "--at", "TALKING", "--id", "o-1"), ("send", "o-1", "ASKED"))


REFUNDS = ("--to", "refunds", "--at", "REVIEWING")


def hand_on(gatechart, *options):
    done = gatechart("handoff", "o-1", *options, "--json")
    assert done.code == 0
    return done.document["handoff"]


def handoffs(gatechart, *options):
    return gatechart("handoffs", "list", *options, "--json").document["handoffs"]


def test_an_offer_waits_for_a_host_and_that_is_said(gatechart):
    made = gatechart("handoff", "o-1", *REFUNDS, "--problem", "pay 4711", "--reason", "out of scope")
    (found,) = handoffs(gatechart)
    assert made.code == 0
    assert made.rows[1:4] == [["status", "pending"], ["mode", "transfer"], ["reason", "out", "of", "scope"]]
    assert f"to       a new agent {found['target']}, of refunds at REVIEWING" in made.out
    assert "the handoff waits for a host: `gatechart run` delivers it" in made.err
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    assert found["status"] == "accepted"
    taken = gatechart("show", found["target"], "--json").document
    assert taken["context"]["current_problem"] == "pay 4711"
    assert taken["context"]["messages"][0]["content"] == "let me see"
    assert gatechart("show", "o-1", "--json").document["status"] == "done"


def test_an_agent_that_hands_on_says_that_this_waits_for_a_host(gatechart):
    sent = gatechart("send", "o-1", "HELP")
    assert sent.err == (
        "a handoff from 'o-1' waits for a host: `gatechart handoffs --source o-1` lists it, "
        "`gatechart run` delivers it\n"
    )


def test_a_command_that_waits_hosts_the_agents_until_the_offer_is_taken(gatechart):
    made = gatechart("handoff", "o-1", *REFUNDS, "--wait", "--mode", "delegate", "--deadline", "2h", "--json")
    assert (made.code, made.err) == (0, "")
    assert [each["status"] for each in made.document["changes"]] == ["pending", "accepted"]
    assert made.document["deadline"] is not None
    assert gatechart("show", "o-1", "--json").document["status"] == "active"


def test_a_command_that_waits_says_why_nobody_took_it(folder, gatechart):
    (folder / "full.py").write_text(
        "from gatechart.contrib.human_desk import desk\n"
        "from tests.contrib.human_desk.support import orders\n"
        "graphs = (orders, desk(capacity=0))\n"
    )
    made = gatechart("handoff", "o-1", "--to", "human_desk", "--at", "HIGH", "--wait", "--app", "full:graphs")
    assert made.code == 1
    assert re.search(r"status +rejected", made.out)
    assert re.search(r"details +no capacity", made.out)
    assert gatechart("show", "o-1", "--json").document["configuration"] == ["CHECKING"]


@pytest.fixture
def away(gatechart):
    """An agent that gave its work away, and takes work back."""
    gatechart("start", "orders", "--at", "TALKING", "--id", "o-2")
    gatechart("send", "o-2", "GIVE")
    gatechart("run", "--once")
    return "o-2"


BACK = ("--to", "orders", "--at", "TAKING_BACK")


def test_work_can_be_handed_to_a_living_agent(away, gatechart):
    gatechart("start", "refunds", "--at", "REVIEWING", "--id", "r-1")
    made = gatechart("handoff", "r-1", *BACK, "--agent", away, "--wait")
    assert made.code == 0
    assert f"to       the agent {away}, of orders at TAKING_BACK" in made.out
    assert gatechart("show", away, "--json").document["configuration"] == ["TALKING"]


def test_an_offer_that_would_close_a_loop_is_rejected_with_the_evidence(away, gatechart):
    made = gatechart("handoff", "o-1", *BACK, "--agent", away, "--wait")
    assert made.code == 1
    assert re.search(r"details +a loop: orders → orders: nothing was achieved since orders had it", made.out)


def test_an_offer_that_is_rejected_at_once_waits_for_nobody(away, gatechart):
    made = gatechart("handoff", "o-1", *BACK, "--agent", away)
    assert (made.code, made.err) == (1, "")
    assert re.search(r"status +rejected", made.out)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ((), 2, "missing --to: name the graph to hand the work to, one of orders, refunds, human_desk"),
        (("--to", "refunds"), 2, "missing --at: name an entry point of 'refunds', one of REVIEWING"),
        (("--to", "refnds", "--at", "X"), 4, "did you mean 'refunds'?"),
        (("--to", "refunds", "--at", "X"), 4, "its entry points are REVIEWING"),
        ((*REFUNDS, "--agent", "o-1"), 4, "agent 'o-1' is of graph 'orders', not 'refunds'"),
        ((*REFUNDS, "--agent", "o-9"), 4, "there is no agent 'o-9'"),
        ((*REFUNDS, "--deadline", "soon"), 2, "--deadline: 'soon' is neither a duration"),
        (
            (*REFUNDS, "--deadline", "2020-01-01"),
            2,
            "--deadline: '2020-01-01' is in the past; write a moment in the future",
        ),
        ((*REFUNDS, "--deadline", "9999999d"), 2, "--deadline: '9999999d' is neither a duration"),
        ((*REFUNDS, "--mode", "lend"), 2, "--mode"),
        ((*REFUNDS, "--reason", "bored"), 2, "knowledge gap"),
    ],
)
def test_what_cannot_be_handed_on_is_told_with_what_can(options, code, told, gatechart, unchanged):
    with unchanged():
        failed = gatechart("handoff", "o-1", *options)
    assert (failed.code, failed.out) == (code, "")
    assert told in failed.err
    assert handoffs(gatechart) == []


ANNA = ("directory", "register", "anna", "refunds", "--at", "REVIEWING", "--person", "--domain", "bills")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [(("--to", "anna"), "anna"), (("--domain", "bills", "--tier", "1"), "the best for bills, tier 1")],
)
def test_work_is_handed_on_to_somebody_in_the_directory_by_name_or_by_needs(options, wanted, gatechart):
    assert gatechart(*ANNA, "--capacity", "1").code == 0
    waiting = gatechart("handoff", "o-1", *options)
    assert (waiting.code, "the handoff waits for a host" in waiting.err) == (0, True)
    assert re.search(rf"^to +nobody yet\nwanted +{wanted}$", waiting.out, re.MULTILINE)
    assert gatechart("run", "--once").code == 0
    (found,) = handoffs(gatechart)
    assert (found["status"], found["target_graph"]) == ("accepted", "refunds")
    (entry,) = gatechart("directory", "--json", "--app", "tests.contrib.human_desk.support:office").document["entries"]
    assert entry["unavailable"] == "full: 1 of 1"


def test_an_offer_that_nobody_in_the_directory_can_take_is_told_at_once_on_request(gatechart):
    gatechart(*ANNA)
    gatechart("directory", "close", "anna", "--reason", "holiday")
    failed = gatechart("handoff", "o-1", "--to", "anna", "--wait")
    assert failed.code == 1
    assert "anna is left out by open: closed" in failed.out


def test_the_best_for_work_that_nothing_tells_of_is_asked_for_with_a_problem_or_needs(gatechart):
    gatechart(*ANNA)
    failed = gatechart("handoff", "o-1", "--best", "--problem", "", "--wait")
    assert (failed.code, "the packet has no problem to match; add --problem, or needs such as" in failed.err) == (
        1,
        True,
    )
    assert "nothing says" not in gatechart("handoff", "o-1", "--best", "--problem", "a tea cosy", "--wait").err
    assert "nothing says" not in gatechart("handoff", "o-1", "--domain", "bills", "--wait").err


def test_what_was_tried_before_is_told_where_nobody_is_left(folder, gatechart):
    (folder / "full.py").write_text(
        "from gatechart.contrib.human_desk import desk\n"
        "from tests.contrib.human_desk.support import orders\n"
        "graphs = (orders, desk(capacity=0))\n"
    )
    app = ("--app", "full:graphs")
    gatechart("directory", "register", "anna", "human_desk", "--at", "HIGH", "--person", *app)
    failed = gatechart("handoff", "o-1", "--to", "anna", "--wait", *app)
    assert failed.code == 1
    assert "anna is left out by refused: it already had the offer" in failed.out
    assert re.search(r"failed before +human_desk at HIGH: no capacity", failed.out)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--to", "anna"), 4, "no entry 'anna'; register it with `gatechart directory register`"),
        (("--to", "refunds", "--domain", "bills"), 2, "--to names the target, but --best and needs let the directory"),
        (("--at", "REVIEWING", "--best"), 2, "--at names the target"),
        (("--to", "anna", "--agent", "o-1"), 2, "--agent needs --to GRAPH --at ENTRY_POINT, and 'anna' is not one of"),
    ],
)
def test_whom_the_directory_cannot_give_it_to_is_told_with_what_can(options, code, told, gatechart, unchanged):
    with unchanged():
        failed = gatechart("handoff", "o-1", *options)
    assert (failed.code, failed.out) == (code, "")
    assert told in failed.err


def test_an_agent_that_is_not_there_or_has_ended_hands_nothing_on(gatechart):
    assert gatechart("handoff", "o-9", *REFUNDS).code == 4
    gatechart("stop", "o-1")
    ended = gatechart("handoff", "o-1", *REFUNDS)
    assert (ended.code, "the agent is stopped" in ended.err) == (1, True)
    assert handoffs(gatechart) == []


@on_both
def test_handoffs_are_listed_by_source_target_status_and_request(gatechart):
    gatechart("start", "orders", "--at", "TALKING", "--id", "o-2")
    first = hand_on(gatechart, *REFUNDS, "--mode", "delegate")
    gatechart("run", "--once")
    gatechart("handoff", "o-2", *REFUNDS)
    one, two = handoffs(gatechart)
    assert (one["handoff"], one["status"], two["status"]) == (first, "accepted", "pending")
    assert handoffs(gatechart, "--source", "o-2") == [two]
    assert handoffs(gatechart, "--target", one["target"]) == [one]
    assert handoffs(gatechart, "--status", "pending") == [two]
    assert handoffs(gatechart, "--request", first) == [one]
    assert handoffs(gatechart, "--after", one["number"]) == [two]
    assert handoffs(gatechart, "--newest-first") == [two, one]
    assert handoffs(gatechart, "--newest-first", "--after", two["number"]) == [one]
    assert gatechart("handoffs", "--source", "o-9").err == "no handoffs found\n"
    paged = gatechart("handoffs", "--limit", "1")
    assert paged.err == f"there are more; add --after {one['number']}\n"
    assert gatechart("handoffs", "list", "--status", "open").code == 2


def test_a_row_tells_from_whom_to_whom_and_why(gatechart):
    made = hand_on(gatechart, *REFUNDS, "--reason", "tool failure")
    (found,) = handoffs(gatechart)
    out = gatechart("handoffs").out
    assert re.search(
        rf"{made} +pending .*transfer from o-1 \(orders\) → {found['target']} \(refunds\) at REVIEWING", out
    )
    assert "tool failure" in out


def test_a_handoff_is_shown_with_every_change_and_the_packet(gatechart):
    made = hand_on(gatechart, *REFUNDS, "--mode", "delegate", "--problem", "pay 4711")
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    gatechart("send", found["target"], "PAY")
    out = gatechart("handoffs", "show", made).out
    assert re.search(r"CHANGE\n.*pending\n.*accepted\n.*completed", out)
    assert re.search(r"RESULT\npaid +4711", out)
    assert re.search(r"problem +pay 4711", out)
    assert "refund(order=4711) → error: the bank is down" in out
    shown = gatechart("handoffs", "show", made, "--json").document
    assert shown["packet"]["entities"] == {"order": "4711"}
    assert [each["status"] for each in shown["changes"]] == ["pending", "accepted", "completed"]
    assert shown["result"] == {"paid": "4711"}


@on_both
def test_a_delegation_that_is_cancelled_ends_what_was_begun_for_it(gatechart):
    made = hand_on(gatechart, *REFUNDS, "--mode", "delegate")
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    cancelled = gatechart("handoffs", "cancel", made, "--reason", "the customer found it")
    assert cancelled.code == 0
    assert f"withdraws handoff {made} from {found['target']}" in cancelled.out
    assert "`gatechart run` delivers it" in cancelled.err
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    assert (found["status"], found["changes"][-1]["details"]) == ("cancelled", "the customer found it")
    assert gatechart("show", found["target"], "--json").document["status"] == "stopped"


def test_an_offer_that_is_cancelled_before_it_is_taken_there_may_still_be_taken_first(gatechart):
    made = hand_on(gatechart, *REFUNDS, "--mode", "delegate")
    assert gatechart("handoffs", "cancel", made, "--reason", "no more", "--json").document["handoff"] == made
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    assert found["status"] == "cancelled"


def test_a_transfer_that_was_accepted_stands(gatechart, unchanged):
    made = hand_on(gatechart, *REFUNDS)
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    with unchanged():
        failed = gatechart("handoffs", "cancel", made, "--reason", "no")
    assert failed.code == 4
    assert f"hand it over with `gatechart handoff {found['target']} --to GRAPH --at ENTRY_POINT`" in failed.err


def test_a_handoff_that_is_over_or_unknown_is_told(gatechart):
    made = hand_on(gatechart, *REFUNDS, "--mode", "delegate")
    gatechart("handoffs", "cancel", made, "--reason", "no more")
    gatechart("run", "--once")
    over = gatechart("handoffs", "cancel", made, "--reason", "again")
    assert (over.code, "it is 'cancelled'" in over.err) == (4, True)
    unknown = gatechart("handoffs", "show", "nope")
    assert (unknown.code, "look it up with `gatechart handoffs`" in unknown.err) == (4, True)
    assert gatechart("handoffs", "cancel", made).code == 2


def test_reading_needs_no_graphs_and_creates_nothing(folder, gatechart):
    made = hand_on(gatechart, *REFUNDS)
    (folder / "pyproject.toml").unlink()
    assert gatechart("handoffs").code == 0
    assert gatechart("handoffs", "show", made).code == 0
    assert gatechart("handoffs", "--store", "sqlite+aiosqlite:///other.db").code == 5
    assert not (folder / "other.db").exists()


async def climb():
    """Has the agent turn to graphs that are not there, and at last to a person; returns the id of the first attempt."""
    async with Runtime.open(graphs=office_graphs) as runtime:
        fallbacks = Fallbacks(OtherGraph("nowhere_else", at="X"), Human("human_desk", at="LOW"))
        request = await runtime.handoff("o-1", Handoff("nowhere", at="X", fallbacks=fallbacks))
        while (await answered(runtime, request=request)).target_graph != "human_desk":  # noqa: ASYNC110
            await asyncio.sleep(0)
        return request


def test_what_was_tried_in_vain_and_what_was_still_to_be_tried_is_shown(gatechart):
    request = asyncio.run(climb())
    attempts = handoffs(gatechart, "--request", request)
    assert [each["status"] for each in attempts] == ["rejected", "rejected", "accepted"]
    first, last = (gatechart("handoffs", "show", attempts[place]["handoff"]) for place in (0, -1))
    assert re.search(r"STILL TO BE TRIED\nother_graph +nowhere_else at X\nhuman +human_desk at LOW", first.out)
    assert re.search(rf"request +{request} \(this is a later attempt of it\)", last.out)
    assert re.search(r"IN VAIN\nnowhere at X +unknown graph: .*\nnowhere_else at X +unknown graph: ", last.out)
    assert last.err == f"one of 3 attempts; see `gatechart handoffs list --request {request}`\n"
    assert "IN VAIN\nnowhere at X" in gatechart("desk", "show", attempts[-1]["target"]).out


def test_a_packet_that_this_release_cannot_read_is_shown_as_it_came(folder, gatechart):
    made = hand_on(gatechart, *REFUNDS)
    with closing(sqlite3.connect(folder / "agents.db")) as database:
        database.execute("UPDATE handoffs SET packet = ?", ['{"schema_version": "new", "mood": "cold"}'])
        database.commit()
    shown = gatechart("handoffs", "show", made)
    assert shown.code == 0
    assert re.search(r"PACKET\nschema_version +new\nmood +cold", shown.out)
    assert "warning: the packet with" in shown.err


def test_rows_that_cannot_be_read_are_listed_and_discarded(folder, gatechart):
    made = hand_on(gatechart, *REFUNDS)
    gatechart("post", "nobody", "ASKED")
    (mail,) = gatechart("mail", "--agent", "nobody", "--json").document["mail"]
    with closing(sqlite3.connect(folder / "agents.db")) as database:
        database.execute("UPDATE agents SET context = '['")
        database.execute("UPDATE mail SET payload = '[' WHERE recipient = 'nobody'")
        database.execute("UPDATE handoffs SET packet = '['")
        database.commit()
    for listing in ("list", "mail", "handoffs"):
        for options in ((), ("--status", "unreadable")):
            listed = gatechart(listing, *options)
            assert (listed.code, "unreadable" in listed.out) == (0, True)
    assert gatechart("mail", "discard", mail["number"]).code == 0
    cancelled = gatechart("handoffs", "cancel", made, "--reason", "it cannot be read")
    assert cancelled.out == f"the unreadable handoff {made} was deleted\n"
    for listing in ("mail", "handoffs"):
        assert "unreadable" not in gatechart(listing).out


@pytest.mark.parametrize("changes", ["[]", "{}", "[1]", '[["pending", 1, 5]]', '[["pending", 1, "\\ud800"]]'])
def test_a_handoff_whose_changes_are_damaged_is_listed_as_unreadable_among_the_others(folder, gatechart, changes):
    made, other = hand_on(gatechart, *REFUNDS), hand_on(gatechart, *REFUNDS)
    with closing(sqlite3.connect(folder / "agents.db")) as database:
        database.execute("UPDATE handoffs SET changes = ? WHERE id = ?", [changes, made])
        database.commit()
    listed = gatechart("handoffs", "list")
    assert (listed.code, f"{made}  unreadable  unknown" in listed.out, other in listed.out) == (0, True, True)
    assert [each["status"] for each in handoffs(gatechart)] == ["unreadable", "pending"]
    shown = gatechart("handoffs", "show", made)
    assert (shown.code, "cannot be read (" in shown.out) == (0, True)
    assert gatechart("handoffs", "cancel", made, "--reason", "damaged").code == 0
    assert [each["handoff"] for each in handoffs(gatechart)] == [other]


MIGRATIONS = """
from gatechart.handoff import PacketMigration

def rename(packet):
    packet["current_problem"] = packet.pop("problem")
    return packet

one = PacketMigration(0, rename)
several = [one]
none = 7
"""


@pytest.fixture
def old_offer(folder, gatechart):
    """An offer that an older gatechart made, by the id of the agent that is to take it."""
    (folder / "upgrades.py").write_text(MIGRATIONS)
    hand_on(gatechart, *REFUNDS, "--problem", "pay 4711")
    with closing(sqlite3.connect(folder / "agents.db")) as database:
        payload = "json_set(json_remove(payload, '$.current_problem'), '$.schema_version', 0, '$.problem', 'pay 0815')"
        database.execute(f"UPDATE mail SET payload = {payload} WHERE event LIKE 'handoff.offered.%'")
        database.commit()
    return handoffs(gatechart)[0]["target"]


def test_packets_of_an_older_gatechart_are_rejected_where_no_migration_is_named(old_offer, gatechart):
    gatechart("run", "--once")
    (found,) = handoffs(gatechart)
    assert found["status"] == "rejected"
    assert "no migration from schema version 0 is registered" in found["changes"][-1]["details"]


@pytest.mark.parametrize("name", ["one", "several"])
def test_packets_of_an_older_gatechart_are_upgraded_as_the_project_says(name, old_offer, folder, gatechart):
    with (folder / "pyproject.toml").open("a") as file:
        file.write(f'packet_migrations = "upgrades:{name}"\n')
    gatechart("run", "--once")
    assert gatechart("show", old_offer, "--json").document["context"]["current_problem"] == "pay 0815"


def test_packets_of_an_older_gatechart_are_upgraded_as_the_environment_says(old_offer, gatechart, monkeypatch):
    monkeypatch.setenv("GATECHART_PACKET_MIGRATIONS", "upgrades:several")
    gatechart("run", "--once")
    assert gatechart("show", old_offer, "--json").document["context"]["current_problem"] == "pay 0815"


@pytest.mark.parametrize("name", ["upgrades", "upgrades:none", "upgrades:nothing", ":one"])
def test_migrations_that_are_none_are_told(name, old_offer, gatechart, monkeypatch):
    monkeypatch.setenv("GATECHART_PACKET_MIGRATIONS", name)
    failed = gatechart("run", "--once")
    assert failed.code == 3
    assert f"packet migrations {name!r} cannot be loaded: " in failed.err


async def chosen(folder):
    """The ids of two handoffs, one to whoever is best, and one to nobody."""
    best = Best(Needs(domains=("refunds",)), order=("tier",))
    nobody = Best(Needs(domains=("moon",)))
    profile = Profile(domains=("refunds",))
    graphs = [
        StateTransitionGraph(
            "asking",
            transitions=[
                Transition("ASKING", "HELP", "WAITING", actions=Handoff(best)),
                Transition("ASKING", "MOON", "WAITING", actions=Handoff(nobody)),
                Transition("WAITING", "handoff.failed", "ASKING"),
            ],
            entry_points=["ASKING"],
        ),
        StateTransitionGraph("junior", states=["WORKING"], entry_points=[EntryPoint("WORKING", profile=profile)]),
        StateTransitionGraph(
            "senior", states=["WORKING"], entry_points=[EntryPoint("WORKING", profile=Profile(tier=3).over(profile))]
        ),
    ]
    async with Runtime.open(f"sqlite+aiosqlite:///{folder / 'agents.db'}", graphs=graphs) as runtime:
        agents = [await runtime.start("asking", at="ASKING", agent_id=name) for name in ("a", "b")]
        await agents[0].send("HELP")
        await agents[1].send("MOON")
        await eventually(lambda: not agents[0].snapshot.handoffs and not agents[1].snapshot.handoffs)
        return [(await runtime.handoffs(source=each.id))[0].id for each in agents]


def test_a_choice_is_shown_with_each_candidate(gatechart, folder):
    best, nobody = asyncio.run(chosen(folder))
    shown = gatechart("handoffs", "show", best)
    assert ["chosen", "senior.WORKING"] in shown.rows
    assert re.search(r"choice +senior.WORKING is the best of 2 that fit \(tier 0.67\); needed: refunds", shown.out)
    assert re.search(r"CANDIDATE +TIER +WHY EXCLUDED *\nsenior.WORKING +0.67 *\njunior.WORKING +0.00", shown.out)
    document = gatechart("handoffs", "show", best, "--json").document
    assert [each["id"] for each in document["choice"]["judged"]] == ["senior.WORKING", "junior.WORKING"]
    assert [each["status"] for each in document["changes"]] == ["choosing", "pending", "accepted"]
    lost = gatechart("handoffs", "show", nobody)
    assert ["to", "nobody"] in lost.rows
    assert re.search(r"CANDIDATE +WHY EXCLUDED *\n.*junior.WORKING +domain: not moon", lost.out)
    assert ["request"] not in lost.rows
    assert "choice" not in gatechart("handoffs", "list", "--json").document["handoffs"][0]


async def unchosen(folder):
    """The id of a handoff whose target is yet to be chosen, by a host."""
    asking = StateTransitionGraph(
        "asking",
        transitions=[Transition("ASKING", "HELP", "WAITING", actions=Handoff(Best(Needs(("soothe",)))))],
        entry_points=["ASKING"],
    )
    url = f"sqlite+aiosqlite:///{folder / 'agents.db'}"
    async with Runtime.open(url, graphs=[asking], role=Role.VISITOR) as runtime:
        await runtime.start("asking", at="ASKING", agent_id="a")
        await runtime.send("a", "HELP")
        return (await runtime.handoffs(source="a"))[0].id


def test_what_is_yet_to_be_chosen_goes_to_nobody_yet(gatechart, folder):
    waiting = asyncio.run(unchosen(folder))
    assert "→ nobody yet" in gatechart("handoffs", "list", "--source", "a").out
    assert re.search(r"^to +nobody yet$", gatechart("handoffs", "show", waiting).out, re.MULTILINE)


async def taken_by_bert(folder):
    """The id of a handoff to a person who has completed the work."""
    graphs = [
        StateTransitionGraph(
            "asking",
            transitions=[Transition("ASKING", "HELP", "WAITING", actions=Handoff(Best(Needs(("soothe",)))))],
            entry_points=["ASKING"],
        ),
        StateTransitionGraph("people", states=[State("WORKING", final=True)], entry_points=["WORKING"]),
    ]
    async with Runtime.open(f"sqlite+aiosqlite:///{folder / 'agents.db'}", graphs=graphs) as runtime:
        await runtime.register_entry("bert", "people", at="WORKING", is_person=True, profile=Profile(("soothe",)))
        agent = await runtime.start("asking", at="ASKING", agent_id="a")
        await agent.send("HELP")
        await agent.until(ended=True)
        return (await runtime.handoffs(source="a"))[0].id


def test_the_id_of_a_handoff_can_be_copied_from_its_entry_on_a_narrow_terminal(gatechart, folder, monkeypatch):
    done = asyncio.run(taken_by_bert(folder))
    monkeypatch.setenv("COLUMNS", "80")
    assert done in gatechart("directory", "show", "bert").out
