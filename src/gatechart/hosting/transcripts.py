"""Model loop messages in handoff packets. A turn does not read journals, so the home adds the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

from gatechart.graph.callables import unwrapped
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.packet import Message
from gatechart.handoff.reading import read_packet
from gatechart.hosting.media_entries import held_by
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import Effect, Offer
from gatechart.values.frozen import replaced

MOST_BYTES: Final = 256 * 1024
"""Maximum size, as JSON, of the messages added from journals: a packet is stored with its handoff, and sent."""


class Speaker(Protocol):
    """An invoked function that keeps a conversation in a journal of the agent, such as ModelLoop."""

    @property
    def journal(self) -> str:
        """Name of the journal."""
        ...

    def handed_on(
        self, entries: Mapping[str, str], conversation: Sequence[Message], most_bytes: int
    ) -> tuple[Message, ...]:
        """Return a packet's conversation, extended by the messages of this one. A second call adds nothing.

        entries: of the journal. most_bytes: maximum size of the added messages.
        """
        ...


def journals_wanted(graph: AnyGraph, turn: TurnRecord) -> tuple[str, ...]:
    """Return the names of the agent's journals whose conversations are missing from a turn's offers."""
    if not any(isinstance(effect, Offer) and effect.lacks_transcripts for effect in turn.effects):
        return ()
    return tuple(_speakers(graph))


def with_transcripts(
    graph: AnyGraph, turn: TurnRecord, journals: Mapping[str, Mapping[str, str]], most_bytes: int = MOST_BYTES
) -> TurnRecord:
    """Return a turn whose packets include the messages of the agent's model loops.

    journals: the entries of the wanted journals, by name.
    """
    speakers = {name: speaker for name, speaker in _speakers(graph).items() if journals.get(name)}
    if not speakers:
        return turn

    def complete(effect: Effect) -> Effect:
        if not isinstance(effect, Offer) or not effect.lacks_transcripts:
            return effect
        return _complete(effect, turn.snapshot.agent_id, speakers, journals, most_bytes)

    return replaced(turn, effects=tuple(map(complete, turn.effects)))


def _complete(
    offer: Offer,
    agent_id: str,
    speakers: Mapping[str, Speaker],
    journals: Mapping[str, Mapping[str, str]],
    most_bytes: int,
) -> Offer:
    packet = offer.handoff.packet
    conversation = read_packet(packet).conversation
    for name, speaker in speakers.items():
        merged = speaker.handed_on(journals[name], conversation, most_bytes // len(speakers))
        conversation = tuple(held_by(agent_id, name, message) for message in merged)
    messages = [message.model_dump(mode="json") for message in conversation]
    return replaced(offer, handoff=replaced(offer.handoff, packet={**packet, "conversation": messages}))


def _speakers(graph: AnyGraph) -> dict[str, Speaker]:
    """Return a graph's functions that keep conversations, one for each journal."""
    speakers: dict[str, Speaker] = {}
    for function in (unwrapped(invoke.function) for node in graph.nodes.values() for invoke in node.invokes):
        if hasattr(function, "handed_on"):
            speaker = cast("Speaker", function)
            speakers.setdefault(speaker.journal, speaker)
    return speakers
