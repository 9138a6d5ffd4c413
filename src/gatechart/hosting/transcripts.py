"""Messages of model loops in the packets of handoffs. A turn does not read journals, so the home adds them."""

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
"""Size of the messages that a packet gets from a journal, as JSON: a packet is stored with its handoff, and sent."""


class Speaker(Protocol):
    """The function of an invoke that keeps a conversation in a journal of the agent. ModelLoop is one."""

    @property
    def journal(self) -> str:
        """Name of the journal."""
        ...

    def handed_on(
        self, entries: Mapping[str, str], conversation: Sequence[Message], most_bytes: int
    ) -> tuple[Message, ...]:
        """Return the conversation of a packet with the messages of this one. A second call adds nothing.

        entries: of the journal. most_bytes: of the added messages.
        """
        ...


def journals_wanted(graph: AnyGraph, turn: TurnRecord) -> tuple[str, ...]:
    """Return the names of the agent's journals whose conversations the offers of a turn lack."""
    if not any(isinstance(each, Offer) and each.lacks_transcripts for each in turn.effects):
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
        conversation = tuple(held_by(agent_id, name, each) for each in merged)
    told = [each.model_dump(mode="json") for each in conversation]
    return replaced(offer, handoff=replaced(offer.handoff, packet={**packet, "conversation": told}))


def _speakers(graph: AnyGraph) -> dict[str, Speaker]:
    """Return the functions of a graph that keep conversations, one for each journal."""
    found: dict[str, Speaker] = {}
    for function in (unwrapped(each.function) for node in graph.nodes.values() for each in node.invokes):
        if hasattr(function, "handed_on"):
            speaker = cast("Speaker", function)
            found.setdefault(speaker.journal, speaker)
    return found
