"""`gatechart migrate`, and apps with several versions of a graph."""

import pytest

from gatechart import Runtime
from gatechart.values.homes import Role
from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def agents(unhurried_shop, prepare):
    prepare(("start", "shop", "--at", "NEW", "--id", "n"), ("start", "shop", "--at", "SEARCHING", "--id", "s"))


def versions(gatechart):
    return [agent["graph_version"] for agent in gatechart("list", "--json").document["agents"]]


@on_both
def test_a_dry_run_tells_of_every_agent_and_changes_nothing(gatechart, unchanged):
    with unchanged():
        told = gatechart("migrate", "--dry-run", "--app", "shop:second")
    assert told.code == 0
    assert told.out == (
        "AGENT  FATE      GRAPH       STATE, WHAT ELSE CHANGES\n"
        "n      migrates  shop 1 → 2  NEW → OPEN\n"
        "                               timers and mail amended: 2\n"
        "s      migrates  shop 1 → 2  SEARCHING\n"
        "                               invokes go on with their steps: 1\n"
        "\n"
        "2 agents: 2 to the newest version\n"
    )
    assert told.err == "nothing was changed: this was a dry run\n"


@on_both
def test_agents_are_migrated(gatechart):
    told = gatechart("migrate", "--app", "shop:second")
    assert (told.code, told.err) == (0, "")
    assert versions(gatechart) == ["2", "2"]
    again = gatechart("migrate", "--app", "shop:second")
    assert again.out.endswith("2 agents: 2 on a version that the app has\n")
    shown = gatechart("show", "n", "--app", "shop:second", "--json").document
    assert shown["configuration"] == ["OPEN"]
    assert [mail["event"] for mail in shown["mail"]] == ["after.30m.OPEN", "after.1h.OPEN"]
    assert gatechart("show", "s", "--json").document["configuration"] == ["SEARCHING"]  # no invoke was run


def test_what_fits_nowhere_is_told_stays_and_fails_the_command(gatechart):
    for dry in (("--dry-run",), ()):
        told = gatechart("migrate", *dry, "--app", "shop:unfit")
        assert told.code == 1
        assert ["n", "stuck", "shop", "1", "NEW"] in told.rows
        assert "'NEW' is not a leaf of version '2'" in told.out
        assert told.out.endswith("2 agents: 1 to the newest version, 1 stuck\n")
    assert versions(gatechart) == ["1", "2"]


def test_machines_get_every_agent_and_counts(gatechart):
    told = gatechart("migrate", "--dry-run", "--app", "shop:unfit", "--json")
    assert told.code == 1
    assert told.document["dry_run"] is True
    assert told.document["counts"] == {"stays": 0, "changed": 0, "migrates": 1, "stuck": 1}
    first, second = told.document["agents"]
    assert (first["agent_id"], first["fate"], first["before"], first["after"]) == ("n", "stuck", "1", "1")
    assert first["problem"] == "'NEW' is not a leaf of version '2' (the agent is in NEW, version '1')"
    assert (second["source"], second["target"], second["invokes_kept"]) == (["SEARCHING"], ["SEARCHING"], 1)
    assert second["problem"] is None


def test_agents_of_other_graphs_are_stuck(gatechart):
    told = gatechart("migrate", "--dry-run", "--app", "desk:desk")
    assert told.code == 1
    assert "no graph is named 'shop': there are 'desk'" in told.out


def test_a_dry_run_works_beside_the_owner_of_the_database(shop, child, monkeypatch):
    import asyncio

    monkeypatch.syspath_prepend(shop)
    from shop import first

    async def beside():
        async with Runtime.open(graphs=first, role=Role.VISITOR):
            run = child("migrate", "--dry-run", "--app", "shop:second"), child("migrate", "--app", "shop:second")
            return [result.code for result in run]

    assert asyncio.run(beside()) == [0, 5]


def test_versions_live_side_by_side(gatechart):
    both = ("--app", "shop:both")
    assert gatechart("migrate", *both).out.endswith("2 agents: 2 on a version that the app has\n")
    assert gatechart("start", "shop", "--at", "OPEN", "--id", "o", *both).code == 0
    assert gatechart("send", "n", "NOTED", *both).code == 0
    assert versions(gatechart) == ["1", "1", "2"]
    assert gatechart("check", *both).out.count("shop") == gatechart("check", "--app", "shop:second").out.count("shop")
    assert "NEW" in gatechart("draw", "--agent", "n", *both).out
    assert '"NEW"' not in gatechart("draw", "shop", *both).out


def test_an_agent_migrates_when_it_is_sent_an_event(gatechart):
    sent = gatechart("send", "n", "ASKED", "--app", "shop:second")
    assert sent.code == 0
    assert "applied before it: agent.migrated" in sent.err
    assert versions(gatechart) == ["2", "1"]
