"""Agents whose choices learn from outcomes."""

from gatechart import HandoffPacket
from gatechart.graph.selection import Best
from gatechart.selection import terms_of
from gatechart.values.profiles import Profile
from tests.runtime.choosing_agents import asking, begun
from tests.runtime.handovers import rest, target_of, worker

LEARNING = Best(scorers={"learned": 1.0})


refund = worker("refund", profile=Profile(domains=("refunds",), samples=("I want my money back", "refund my order")))


parcel = worker("parcel", profile=Profile(domains=("parcels",), samples=("where is my parcel", "track my order")))


LETTER = HandoffPacket(user_id="ada", current_problem="please refund my order")


def asks(best, letter=LETTER):
    return asking(best, packet=lambda context, event: letter)


async def handed(runtime):
    """Hand the letter to whoever is chosen, and return its agent."""
    return await target_of(runtime, await begun(runtime))


async def failing(runtime, times):
    for _ in range(times):
        await runtime.stop((await handed(runtime)).id)
        await rest(runtime)


def asking_for(best, problem=LETTER.current_problem):
    packet = HandoffPacket(current_problem=problem)
    return packet.model_copy(update={"selection": terms_of(best, packet)})
