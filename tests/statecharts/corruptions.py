"""Recorded conversations in which something is wrong, for charts that should notice it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Act, Conversation, ConversationTurn, Frame

NONSENSE = "purple elephant"
OTHER = {"user": "system", "system": "user"}
Place = tuple[int, int, int]  # turn, frame, act
Corrupt = Callable[[Conversation, Random], Conversation | None]


@dataclass(frozen=True)
class Corruptions:
    """Ways to spoil a conversation behind the turn with which it begins. None where one has nothing to spoil."""

    conversations: Sequence[Conversation]
    catalogue: Catalogue

    def of_acts(self) -> Mapping[str, Corrupt]:
        """Those of a single act."""
        return {
            "a CONFIRM with another value": self.another_value,
            "a CONFIRM of nonsense": self.nonsense,
            "a value outside possible_values": self.impossible_value,
            "an act dropped": lambda one, draw: self._edited(one, draw, lambda act: ()),
            "an act said twice": lambda one, draw: self._edited(one, draw, lambda act: (act, act)),
        }

    def of_conversations(self) -> Mapping[str, Corrupt]:
        """Those of everything behind the first turn."""
        return {
            "reversed": lambda one, draw: _with_body(one, one.turns[:0:-1]),
            "turns shuffled": lambda one, draw: _with_body(one, draw.sample(one.turns[1:], len(one.turns) - 1)),
            "speakers swapped": lambda one, draw: _with_body(one, map(_swapped, one.turns[1:])),
            "first half dropped": lambda one, draw: _with_body(one, one.turns[1 + len(one.turns[1:]) // 2 :]),
            "body of another service": self.body_of_another,
        }

    def another_value(self, one: Conversation, draw: Random) -> Conversation | None:
        """A CONFIRM has a value that the slot has in some other conversation, and never in this one."""
        said = {value for act in one.acts for value in act.values or ()}

        def others(frame: Frame, act: Act) -> list[str]:
            return sorted(self._values.get((frame.service, act.slot or ""), set()) - said)

        places = [(at, frame, act) for at, frame, act in _acts(one) if act.act == "CONFIRM" and others(frame, act)]
        if not places:
            return None
        at, frame, act = draw.choice(places)
        return _with_act(one, at, (act.model_copy(update={"values": (draw.choice(others(frame, act)),)}),))

    def nonsense(self, one: Conversation, draw: Random) -> Conversation | None:
        """A CONFIRM reads back what nobody says."""
        return self._with_nonsense(one, draw, lambda frame, act: act.act == "CONFIRM")

    def impossible_value(self, one: Conversation, draw: Random) -> Conversation | None:
        """A categorical slot has a value that it cannot have, whoever says it."""
        return self._with_nonsense(
            one,
            draw,
            lambda frame, act: bool(act.values and self._possible(frame, act)),
        )

    def body_of_another(self, one: Conversation, draw: Random) -> Conversation | None:
        """What is said behind the first turn is that of a conversation with another service."""
        others = [each for each in self.conversations if not set(each.services) & set(one.services)]
        return _with_body(one, map(_renamed(one.services[0]), draw.choice(others).turns[1:])) if others else None

    def _edited(self, one: Conversation, draw: Random, edit: Callable[[Act], tuple[Act, ...]]) -> Conversation | None:
        places = [(at, act) for at, _, act in _acts(one) if act is not one.opening]
        at, act = draw.choice(places)
        return _with_act(one, at, edit(act))

    def _with_nonsense(
        self, one: Conversation, draw: Random, wanted: Callable[[Frame, Act], bool]
    ) -> Conversation | None:
        places = [(at, act) for at, frame, act in _acts(one) if act is not one.opening and wanted(frame, act)]
        if not places:
            return None
        at, act = draw.choice(places)
        return _with_act(one, at, (act.model_copy(update={"values": (NONSENSE,)}),))

    def _possible(self, frame: Frame, act: Act) -> tuple[str, ...]:
        slot = self.catalogue.service(frame.service).slots.get(act.slot or "")
        return slot.values if slot else ()

    @cached_property
    def _values(self) -> Mapping[tuple[str, str], set[str]]:
        found = dict[tuple[str, str], set[str]]()
        for each in self.conversations:
            for _, frame, act in _acts(each):
                found.setdefault((frame.service, act.slot or ""), set()).update(act.values or ())
        return found


def _acts(one: Conversation) -> Iterator[tuple[Place, Frame, Act]]:
    for turn_at, turn in enumerate(one.turns):
        for frame_at, frame in enumerate(turn.frames):
            for act_at, act in enumerate(frame.acts):
                yield (turn_at, frame_at, act_at), frame, act


def _with_act(one: Conversation, at: Place, acts: tuple[Act, ...]) -> Conversation:
    """The act at a place makes room for others."""
    turn_at, frame_at, act_at = at
    turn = one.turns[turn_at]
    frame = turn.frames[frame_at]
    edited = frame.model_copy(update={"acts": (*frame.acts[:act_at], *acts, *frame.acts[act_at + 1 :])})
    frames = (*turn.frames[:frame_at], edited, *turn.frames[frame_at + 1 :])
    spoken = turn.model_copy(update={"frames": frames})
    return one.model_copy(update={"turns": (*one.turns[:turn_at], spoken, *one.turns[turn_at + 1 :])})


def _with_body(one: Conversation, turns: Iterator[ConversationTurn] | Sequence[ConversationTurn]) -> Conversation:
    return one.model_copy(update={"turns": (one.turns[0], *turns)})


def _swapped(turn: ConversationTurn) -> ConversationTurn:
    return turn.model_copy(update={"speaker": OTHER[turn.speaker]})


def _renamed(service: str) -> Callable[[ConversationTurn], ConversationTurn]:
    def renamed(turn: ConversationTurn) -> ConversationTurn:
        frames = tuple(frame.model_copy(update={"service": service}) for frame in turn.frames)
        return turn.model_copy(update={"frames": frames})

    return renamed
