"""How often the charts notice that something is wrong with a conversation: a table for one service, one for several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest
from rich.console import Console

from gatechart import Runtime
from statecharts.service_desk import service_desk
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Conversation, of_several_services, read_conversations
from statecharts.service_desk.moves import replay as several
from statecharts.service_desk.replay import replay
from statecharts.service_desk.report import Played, Refused
from tests.statecharts.corruptions import Corrupt, Corruptions

pytestmark = pytest.mark.long

SEED = 20190301

# What share of the spoilt conversations is noticed: something is refused, or it does not come to its end.
OF_ACTS = {
    "a CONFIRM with another value": 0.99,
    "a CONFIRM of nonsense": 0.99,
    "a value outside possible_values": 0.95,
    "an act dropped": 0.45,
    "an act said twice": 0.45,
}
# What share of the acts behind the first turn is refused.
OF_CONVERSATIONS = {
    "reversed": 0.81,
    "turns shuffled": 0.67,
    "speakers swapped": 0.86,
    "first half dropped": 0.76,
    "body of another service": 0.63,
}


@dataclass(frozen=True)
class Heard:
    """What became of one conversation."""

    refused: Sequence[Refused]
    is_ended: bool

    @property
    def is_noticed(self) -> bool:
        return bool(self.refused) or not self.is_ended

    @property
    def refused_acts(self) -> int:
        """Without turns, calls and moves."""
        return sum(each.act not in ("user turn", "system turn", "system CALL", "user move") for each in self.refused)


Play = Callable[[list[Conversation], Catalogue], Awaitable[list[Heard]]]


async def with_one_service(conversations: list[Conversation], catalogue: Catalogue) -> list[Heard]:
    played = list[Played]()
    async with Runtime.open("memory:", graphs=[service_desk]) as runtime:
        report = await replay(conversations, catalogue, runtime, on_progress=played.append)
    assert report.unplayed == ()
    return [Heard(one.refused, one.ended_in == "ENDED") for one in played]


async def with_several_services(conversations: list[Conversation], catalogue: Catalogue) -> list[Heard]:
    async with Runtime.open("memory:", graphs=several.graphs_for(catalogue)) as runtime:
        played = await several.replay(conversations, catalogue, runtime)
    return [Heard(one.refused, one.ended_in == "ENDED") for one in played]


def spoilt(conversations: Sequence[Conversation], corrupt: Corrupt) -> list[Conversation]:
    draw = Random(SEED)
    return [bad for one in conversations if (bad := corrupt(one, draw)) is not None]


async def noticed(sample: Corruptions, corruptions: Mapping[str, Corrupt], play: Play) -> dict[str, float]:
    """The share of the conversations in which it is noticed, for each corruption."""
    table = dict[str, float]()
    for name, corrupt in corruptions.items():
        heard = await play(spoilt(sample.conversations, corrupt), sample.catalogue)
        table[name] = sum(each.is_noticed for each in heard) / len(heard)
    return table


async def refused(sample: Corruptions, corruptions: Mapping[str, Corrupt], play: Play) -> dict[str, float]:
    """The share of the acts behind the first turn that is refused, for each corruption."""
    table = dict[str, float]()
    for name, corrupt in corruptions.items():
        bad = spoilt(sample.conversations, corrupt)
        behind = sum(len(frame.acts) for one in bad for turn in one.turns[1:] for frame in turn.frames)
        table[name] = sum(each.refused_acts for each in await play(bad, sample.catalogue)) / behind
    return table


@pytest.fixture(scope="module")
def single(recorded) -> Corruptions:
    conversations, catalogue = recorded
    return Corruptions(conversations[::8], catalogue)


@pytest.fixture(scope="module")
def mixed(dialogues, recorded) -> Corruptions:
    return Corruptions(of_several_services(read_conversations(dialogues))[::16], recorded[1])


async def test_what_is_right_is_not_noticed(single: Corruptions, mixed: Corruptions) -> None:
    for sample, play in ((single, with_one_service), (mixed, with_several_services)):
        heard = await play(list(sample.conversations), sample.catalogue)
        assert not any(each.is_noticed for each in heard)


async def test_a_single_wrong_act_is_noticed(single: Corruptions) -> None:
    table = await noticed(single, single.of_acts(), with_one_service)
    Console().print(table)  # shown with -s
    assert {name: share for name, share in table.items() if share < OF_ACTS[name]} == {}


async def test_a_single_wrong_act_is_noticed_among_several_services(mixed: Corruptions) -> None:
    table = await noticed(mixed, mixed.of_acts(), with_several_services)
    Console().print(table)  # shown with -s
    assert {name: share for name, share in table.items() if share < OF_ACTS[name]} == {}


async def test_a_conversation_that_is_all_wrong_is_mostly_refused(single: Corruptions) -> None:
    table = await refused(single, single.of_conversations(), with_one_service)
    Console().print(table)  # shown with -s
    assert {name: share for name, share in table.items() if share < OF_CONVERSATIONS[name]} == {}
