"""A process killed around the commit that makes mail dead: its agent is told of that once, whoever goes on."""

import logging
import signal

import pytest

from gatechart import Runtime
from gatechart.values.mail import MailStatus
from tests.crash.dead_mail_agents import KINDS, LIMITS, helper, live, mourner


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        ("after UPDATE mail", 1),
        ("after UPDATE mail", 2),
        ("after INSERT mail", 2),
        ("after INSERT mail", 4),
        *((point, nth) for point in ("before COMMIT", "after COMMIT") for nth in (5, 6, 7, 8, 9)),
    ],
)
async def test_an_agent_is_told_of_its_dead_letter_once_whenever_the_process_dies(forks, crash_url, point, nth):
    assert forks.live("dead_mail_agents", crash_url, point, nth) in (0, -signal.SIGKILL)
    await live(crash_url)
    async with Runtime.open(crash_url, graphs=[mourner, helper], limits=LIMITS) as runtime:
        for kind in KINDS:
            agent = await runtime.resume(kind)
            [letter] = await runtime.mail(kind)
            assert letter.status is MailStatus.DEAD
            assert agent.context.told == [[letter.event, letter.number]]
            assert [each.event.name for each in await agent.history()].count("error.mail") == 1


def test_the_process_is_killed_on_the_way(forks, crash_url):
    """So that the points above are some that it passes."""
    for point in ("before COMMIT", "after UPDATE mail"):
        assert forks.live("dead_mail_agents", crash_url, point, 1) == -signal.SIGKILL
