"""Texts of a packet, to be compared with the texts of candidates."""

from __future__ import annotations

from typing import Final

from gatechart.handoff.packet import HandoffPacket

MOST_CHARACTERS: Final = 20_000
"""Maximum length of a packet's text in a comparison. Only the end of a longer text counts."""


def problem_of(packet: HandoffPacket) -> str:
    """Return the problem to solve: the current problem, else the user's last message, else the initial query.

    >>> problem_of(HandoffPacket(initial_query="hello", current_problem="my fridge is broken"))
    'my fridge is broken'
    """
    last_message = next(
        (message.content for message in reversed(packet.conversation) if message.content and message.role == "user"), ""
    )
    return (packet.current_problem or last_message or packet.initial_query)[-MOST_CHARACTERS:]


def words_of_packet(packet: HandoffPacket) -> str:
    """Return all texts of a packet: query, conversation, assumptions, decisions, suggestion and problem.

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
