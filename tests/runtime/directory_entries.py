"""Entries of a directory for refunds, and a letter to them."""

from gatechart import HandoffPacket
from gatechart.graph.selection import Best
from gatechart.values.profiles import Needs, Profile
from tests.runtime.handovers import rest, worker

REFUNDS = Best(Needs(domains=("refunds",)), order=("tier",))


senior = worker("senior", profile=Profile(domains=("refunds",), tier=3))


LETTER = HandoffPacket(user_id="ada", current_problem="my money, please")


async def entry_of(runtime, entry_id):
    await rest(runtime)
    (entry,) = await runtime.directory(entry_id)
    return entry
