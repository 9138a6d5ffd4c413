"""The search that notices that it repeats itself."""

from gatechart import Runtime
from statecharts.circling import circling, play


async def test_it_asks_somebody_once_the_same_two_moves_have_come_three_times():
    async with Runtime.open("memory:", graphs=[circling]) as runtime:
        agent = await play(runtime)
        history = await agent.history()
    (fired,) = [turn.fired for turn in history if turn.fired]
    assert agent.snapshot.configuration == ("ASKING_SOMEBODY",)
    assert (fired.signal, fired.evidence[0]["period"], fired.evidence[0]["times"]) == ("repeats", 2, 3)
    assert len(history) == 6  # where it began counts, too


async def test_after_a_hint_it_may_go_round_again_before_it_asks():
    async with Runtime.open("memory:", graphs=[circling]) as runtime:
        agent = await play(runtime)
        await agent.send("HINTED")
        await agent.send("NOTHING_FOUND")
        assert agent.snapshot.configuration == ("REPHRASING",)
