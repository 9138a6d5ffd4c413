"""`kill -9` of the process that hosts a crew, of the database server, of both in turn, while events come in."""

from dataclasses import dataclass

import pytest

from tests.crash.campaign import Plan, campaign
from tests.homes import POSTGRESQL
from tests.postgres import Server


@pytest.fixture(autouse=True)
def _ends():
    """The campaigns have ends of their own, which leave time to machines with much else to do."""


@dataclass(frozen=True)
class Place:
    """Where a crew is kept, and the server that keeps it, if there is one."""

    url: str
    server: Server | None = None


@pytest.fixture(params=["sqlite", POSTGRESQL])
def place(request):
    """A database of its own, in which nothing is yet."""
    if request.param == "sqlite":
        return Place(request.getfixturevalue("sqlite_url"))
    server = request.getfixturevalue("safe_server")
    return Place(server.url(server.new()), server)


async def test_nothing_is_lost_or_doubled_when_the_host_the_server_and_both_are_killed(place, tmp_path):
    plan = Plan(agents=25, each=40, kills=3)
    ledger, kills = await campaign(place.url, tmp_path, plan, place.server)
    assert kills == plan.kills
    assert sum(map(len, ledger.histories.values())) > plan.events


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_in_a_long_campaign_of_kills(place, tmp_path, capsys):
    def say(line):
        with capsys.disabled():
            print(f"\n{line}", end="")  # noqa: T201

    plan = Plan(agents=200, each=100, kills=30, checks=5, ends_s=1800)
    ledger, kills = await campaign(place.url, tmp_path, plan, place.server, say)
    assert kills == plan.kills
    say(f"{plan.events} events, {sum(map(len, ledger.histories.values()))} turns, {kills} kills: all is well")
