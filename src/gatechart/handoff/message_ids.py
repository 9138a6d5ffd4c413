"""Ids of messages. A message keeps its id when it is edited, handed on or forked.

An id does not depend on the contents, so that it reveals nothing about them after they were masked. Within a turn it
follows from the turn and the position of the message, so that a replay of the turn creates the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from uuid import uuid4

from gatechart.handoff.packet import Message


def random_id() -> str:
    """Return an id of 16 hexadecimal digits that no other message has."""
    return uuid4().hex[:16]


def id_in_turn(turn: str, position: int, before: str) -> str:
    """Return an id for a message of a turn.

    turn: distinct for each turn. position: of the message, from 0. before: id of the message before it.
    """
    text = f"{turn}\0{position}\0{before}"
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def merged_messages(known: Sequence[Message], brought: Iterable[Message]) -> list[Message]:
    """Return known messages and the messages of a packet. A message of the packet replaces the known one with its id.

    Messages with unknown ids are compared by contents: each one beyond the number of equal known messages is new.
    """
    positions = {message.id: position for position, message in enumerate(known) if message.id}
    messages, others = list(known), []
    for message in brought:
        position = positions.pop(message.id, None)
        if position is None:
            others.append(message)
        else:
            messages[position] = message
    replaced = {message.id for message in known if message.id and message.id not in positions}
    counts = Counter(_contents(message) for message in known if message.id not in replaced)
    for message in others:
        contents = _contents(message)
        if counts[contents]:
            counts[contents] -= 1
        else:
            messages.append(message)
    return messages


def _contents(message: Message) -> str:
    return message.model_dump_json(exclude={"id"})
