"""What a turn asks of the outside and no home carries out is never committed and forgotten."""

from dataclasses import dataclass

import pytest

from gatechart import Runtime, StateTransitionGraph, Transition
from gatechart.errors import UnknownEffectError
from gatechart.turn.turn_context import log_of
from gatechart.values.effects import Send
from tests.runtime.support import Parcel, note, nothing_changes


@dataclass(frozen=True)
class Wish:
    """An effect that somebody has added, and no home knows."""

    text: str


def wish(context, event, turn):
    note(context, event)
    log_of(turn).asked.append(Wish("a pony"))
    log_of(turn).asked.append(Send("w-2", "NOTED", {}))


wishing = StateTransitionGraph(
    "wishing",
    context=Parcel,
    transitions=[Transition("A", "WISHED", "B", actions=wish), Transition("A", "NOTED", actions=note)],
    entry_points=["A"],
)


async def test_a_turn_with_an_unknown_effect_is_undone_and_its_sender_told(place):
    async with Runtime.open(place, graphs=wishing) as runtime:
        agent, _ = [await runtime.start("wishing", at="A", agent_id=each) for each in ("w-1", "w-2")]
        async with nothing_changes(runtime, agent):
            with pytest.raises(UnknownEffectError, match=r"'Wish'.*'Send', 'Timer'"):
                await agent.send("WISHED")
        assert (await agent.send("NOTED")).applied
        assert [entry.event.name for entry in await runtime.history("w-2")] == ["agent.started.A"]
        assert not list(await runtime.mail("w-2"))
