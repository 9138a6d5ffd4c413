"""The text of a packet, for comparison with the texts of candidates."""

from __future__ import annotations

from typing import Final

from gatechart.handoff import HandoffPacket

MOST_CHARACTERS: Final = 20_000
"""Maximum number of characters of a packet's text for comparison: the last ones."""


def problem_of(packet: HandoffPacket) -> str:
    """Return the problem to hand on: the current problem, else the user's last message, else the initial query.

    >>> problem_of(HandoffPacket(initial_query="hello", current_problem="my fridge is broken"))
    'my fridge is broken'
    """
    messages = reversed(packet.conversation)
    last = next((message.content for message in messages if message.content and message.role == "user"), "")
    return (packet.current_problem or last or packet.initial_query)[-MOST_CHARACTERS:]


def words_of_packet(packet: HandoffPacket) -> str:
    """Return all texts of a packet: query, conversation, assumptions, decisions, suggested action and current problem.

    >>> words_of_packet(HandoffPacket(initial_query="hello", current_problem="my fridge is broken")).splitlines()
    ['hello', 'my fridge is broken']
    """
    parts = (
        packet.initial_query,
        *(message.content for message in packet.conversation),
        *packet.assumptions,
        *packet.decisions,
        packet.suggested_action,
        packet.current_problem,
    )
    return "\n".join(dict.fromkeys(part for part in parts if part))[-MOST_CHARACTERS:]
