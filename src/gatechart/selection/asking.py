"""What a packet says in words, to be compared with what candidates are for."""

from __future__ import annotations

from typing import Final

from gatechart.handoff.packet import HandoffPacket

MOST_CHARACTERS: Final = 20_000
"""How much of a packet's words is compared: the last of them."""


def problem_of(packet: HandoffPacket) -> str:
    """Return the problem that is handed on: as it stands, else what was said last, else what was asked first.

    >>> problem_of(HandoffPacket(initial_query="hello", current_problem="my fridge is broken"))
    'my fridge is broken'
    """
    said = next((each.content for each in reversed(packet.conversation) if each.content and each.role == "user"), "")
    return (packet.current_problem or said or packet.initial_query)[-MOST_CHARACTERS:]


def words_of_packet(packet: HandoffPacket) -> str:
    """Return all that a packet says: what was asked, the conversation, what was decided, the problem and suggestion.

    >>> words_of_packet(HandoffPacket(initial_query="hello", current_problem="my fridge is broken")).splitlines()
    ['hello', 'my fridge is broken']
    """
    parts = (
        packet.initial_query,
        *(each.content for each in packet.conversation),
        *packet.assumptions,
        *packet.decisions,
        packet.suggested_action,
        packet.current_problem,
    )
    return "\n".join(dict.fromkeys(each for each in parts if each))[-MOST_CHARACTERS:]
