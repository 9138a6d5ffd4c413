"""The context of an agent that holds a conversation: it builds packets and reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from pydantic import Field, JsonValue, PrivateAttr, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from gatechart.context import AgentContext, problems_of, values_of, write_context
from gatechart.errors.event import PacketError, PayloadError
from gatechart.graph.packet_fields import own_fields
from gatechart.handoff.filling import filling_values, fitting
from gatechart.handoff.media import AnyPart, problems_in
from gatechart.handoff.message_ids import id_in_turn, merged_messages, random_id
from gatechart.handoff.packet import (
    SCHEMA_VERSION,
    HandoffPacket,
    Message,
    Metadata,
    Part,
    ReasoningStep,
    TextPart,
    ToolCall,
)
from gatechart.secrets import has_secrets, marked
from gatechart.values.handoffs import Reason
from gatechart.values.secrets import withheld

SUMMARY: Final = "summary"
"""Role of the message that replaces messages left out of a packet."""

_LONGEST_EVIDENCE: Final = 2_000  # characters of evidence in a packet

Summarize: TypeAlias = Callable[[tuple[Message, ...]], str]
PartT = TypeVar("PartT", bound=Part)


class ConversationContext(AgentContext):
    """A context with the parts of a conversation. Subclass it to add the fields that the agent needs.

    Fields of a subclass travel in the packet's internal state, as the agent's own statements. The next agent receives
    them in its fields of the same names. A field with its default value is left out, with two exceptions: it replaced
    the value of an earlier agent, or an entity has its name. An empty default (None, an empty text or collection) does
    not keep the entity out.
    """

    # A packet has the same field names, except that `messages` is its `conversation`.
    session_id: str = ""
    user_id: str = ""
    initial_query: str = ""
    current_problem: str = ""
    messages: list[Message] = Field(default_factory=list)  # oldest first
    reasoning: list[ReasoningStep] = Field(default_factory=list)  # oldest first
    entities: dict[str, JsonValue] = Field(default_factory=dict)
    internal_state: dict[str, JsonValue] = Field(default_factory=dict)
    assumptions: list[str] = Field(default_factory=list)
    decisions: list[str] = Field(default_factory=list)
    suggested_action: str = ""
    metadata: Metadata = Metadata()

    _turn: str = PrivateAttr("")  # the current one; empty outside of turns
    tells_words: ClassVar[bool] = True  # read by the checks of selections: its packets have texts to match
    conversation_fields: ClassVar[frozenset[str]] = frozenset()  # the fields of this class; see `own_fields`
    _TEXTS: ClassVar = ("session_id", "user_id", "initial_query", "current_problem", "suggested_action")

    def say(
        self,
        role: str,
        content: str = "",
        time: datetime | None = None,
        tool_calls: Iterable[ToolCall] = (),
        parts: Iterable[AnyPart] = (),
    ) -> Message:
        """Add a message with a new id to the conversation. time: aware; take it from the event.

        parts: images, audio and files, and texts between them; `content` comes before them. Raises PayloadError for
        parts whose bytes are not in exactly one place, are not base64, or are more than 4 MiB in all.
        """
        media = tuple(parts)
        if problems := problems_in(media):
            raise PayloadError("parts", problems, "parts of a message")
        pieces = (TextPart(text=content), *media) if content and media else media
        text = "\n".join(piece.text for piece in pieces if isinstance(piece, TextPart)) if pieces else content
        calls, own_id = tuple(tool_calls), self._new_id(len(self.messages))
        message = Message(role=role, content=text, time=time, tool_calls=calls, parts=pieces, id=own_id)
        self.messages.append(message)
        return message

    def begin_turn(self, turn: str) -> None:
        """Set the current turn. The ids of new messages follow from it. turn: distinct for each turn."""
        self._turn = turn

    def identify(self) -> None:
        """Give an id to each message that has none, such as one that was added without `say`."""
        messages = self.messages
        for position, message in enumerate(messages if isinstance(messages, list) else ()):
            if isinstance(message, Message) and not message.id:
                messages[position] = message.model_copy(update={"id": self._new_id(position)})

    def _new_id(self, position: int) -> str:
        """Return an id for the message at a position, from 0."""
        if not self._turn:
            return random_id()
        return id_in_turn(self._turn, position, self.messages[position - 1].id if position else "")

    def note(self, action: str, details: str = "", outcome: str = "", reasoning: str = "") -> ReasoningStep:
        """Add a step to the trace of attempts; the step's id is its position, from 1."""
        step_id = str(len(self.reasoning) + 1)
        step = ReasoningStep(step_id=step_id, action=action, details=details, outcome=outcome, reasoning=reasoning)
        self.reasoning.append(step)
        return step

    def tried(self, action: str) -> bool:
        """Return whether the trace has this action, by this agent or an earlier one."""
        return any(step.action == action for step in self.reasoning)

    def packet(
        self,
        reason: Reason | str = Reason.OTHER,
        *,
        last: int | None = None,
        summarize: Summarize | None = None,
        without: Iterable[str] = (),
        **more: Any,
    ) -> HandoffPacket:
        """Build the packet for the next agent. Raises PacketError for values that JSON cannot hold and unknown names.

        last: how many of the newest messages to include; all if None.
        summarize: turns the messages that are left out, if any, into one; none is added if it returns "".
        without: names of the packet's fields to leave out, or `entities.<name>` and `internal_state.<name>` for the
            fields of a subclass.
        more: further fields of the packet, or other values for these.
        """
        parts = {name: getattr(self, name) for name in _SHARED}
        parts["conversation"] = _shortened(self.messages, last, summarize)
        parts["internal_state"] = self.internal_state | _own_values(self)
        return _packet(_left_out(parts, without) | more | {"reason": reason})

    def take(self, packet: HandoffPacket, *, entities: Collection[str] = ()) -> None:
        """Continue with the contents of a packet. Taking the same packet twice has the same effect as once.

        New messages, reasoning, assumptions and decisions are appended; entities and internal state are updated. Texts
        in the packet replace existing ones, except that the first initial query stays. Messages replace known messages
        with the same ids. Priority and suggestion are the packet's. Fields of a subclass are filled as for a new agent.

        entities: names of the fields of a subclass that entities may fill; they fill no others.
        """
        first = self.initial_query
        for name in self._TEXTS:
            setattr(self, name, getattr(packet, name) or getattr(self, name))
        self.initial_query = first or packet.initial_query
        self.suggested_action = packet.suggested_action
        self.metadata = _merged(self.metadata, packet.metadata)
        self.messages = merged_messages(self.messages, packet.conversation)
        self.reasoning = [*self.reasoning, *_new(self.reasoning, packet.reasoning)]
        self.assumptions = list(dict.fromkeys((*self.assumptions, *packet.assumptions)))
        self.decisions = list(dict.fromkeys((*self.decisions, *packet.decisions)))
        self.entities = self.entities | _copied(packet.entities)
        self.internal_state = self.internal_state | _copied(packet.internal_state)
        for name, value in _filled(type(self), packet, entities).items():
            setattr(self, name, value)

    @classmethod
    def fields_from(cls, packet: HandoffPacket) -> dict[str, Any]:
        """Return the fields of a new agent's context that a packet fills without its entities.

        These are the parts of a conversation, and each field of the subclass that has a valid value under its name in
        the internal state. `fields_for` adds the fields that entities may fill.
        """
        parts = {name: getattr(packet, name) for name in _SHARED}
        return parts | {
            "messages": list(packet.conversation),
            "reasoning": list(packet.reasoning),
            "assumptions": list(packet.assumptions),
            "decisions": list(packet.decisions),
            "entities": _copied(packet.entities),
            "internal_state": _copied(packet.internal_state),
            **_filled(cls, packet),
        }


ConversationContext.conversation_fields = frozenset(ConversationContext.model_fields)

_SHARED: Final = tuple(name for name in ConversationContext.model_fields if name in HandoffPacket.model_fields)
_KEYED: Final = ("entities", "internal_state")


def with_choice(packet: HandoffPacket, choice: Mapping[str, Any]) -> HandoffPacket:
    """Return the packet with the words and arguments of the model that chose this handoff.

    choice: payload of the event of the choice. The reason and the summary become a step of the reasoning, the other
    arguments become entities. The internal state loses empty values under the names of arguments, so that the arguments
    can fill these fields.
    """
    arguments = dict(choice.get("arguments", {}))
    words = {"reasoning": arguments.pop("reason", ""), "details": arguments.pop("summary", "")}
    step = ReasoningStep(step_id=str(len(packet.reasoning) + 1), action=choice.get("tool", ""), **words)
    state = {name: each for name, each in packet.internal_state.items() if name not in arguments or not _is_empty(each)}
    return packet.model_copy(
        update={
            "reasoning": (*packet.reasoning, step),
            "entities": {**packet.entities, **arguments},
            "internal_state": state,
        },
    )


def with_finding(packet: HandoffPacket, event: str, payload: Mapping[str, Any]) -> HandoffPacket:
    """Return the packet with the signal that caused this handoff.

    payload: of the event, which is the signal or an escape attempt that follows it. The evidence becomes a step of the
    reasoning, with the strategies that were passed over. The signal's reason becomes the packet's, if that has none.
    """
    evidence = "; ".join(map(_evidence_line, payload.get("evidence", ())))
    passed = "; ".join(f"{each['strategy']} was passed over: {each['why']}" for each in payload.get("passed", ()))
    step = ReasoningStep(
        step_id=str(len(packet.reasoning) + 1),
        action=event,
        details=passed[:_LONGEST_EVIDENCE],
        outcome=str(payload.get("way", "")),
        reasoning=f"{payload.get('signal', '')}: {evidence}"[:_LONGEST_EVIDENCE],
    )
    why = payload.get("reason")
    known = packet.reason is Reason.OTHER and why in set(Reason)
    reason = Reason(str(why)) if known else packet.reason
    return packet.model_copy(update={"reason": reason, "reasoning": (*packet.reasoning, step)})


def _evidence_line(evidence: Mapping[str, Any]) -> str:
    facts = (f"{name} {to_json(value).decode()}" for name, value in evidence.items() if name != "detector")
    return f"{evidence.get('detector', 'found')} ({', '.join(facts)})"


def packet_of(context: AgentContext | None, reason: Reason = Reason.OTHER) -> HandoffPacket:
    """Turn a context into a packet; one that is not a conversation becomes the internal state. Raises PacketError.

    Secrets of the context stay with the agent: the packet only shows where they were.
    """
    if isinstance(context, ConversationContext):
        return context.packet(reason)
    try:
        state = {} if context is None else withheld(from_json(write_context(context)))
    except (PydanticSerializationError, ValueError) as error:
        raise _refusal((f"{type(context).__name__}: {error}",)) from error
    return _packet({"internal_state": state, "reason": reason})


def fields_for(kind: type[AgentContext], packet: HandoffPacket, entities: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a new agent's context that a packet fills, by name; the others keep their defaults.

    For a conversation see `fields_from`. In another context, each valid value of the internal state fills the field of
    its name.

    entities: names of the fields that entities may fill if the internal state has no value; they fill no others.
    """
    if not issubclass(kind, ConversationContext):
        return fitting(kind, kind.model_fields, filling_values(packet, entities))
    fields = kind.fields_from(packet)
    if not entities:
        return fields
    open_fields = (name for name in entities if name in _own_fields(kind) and name not in packet.internal_state)
    return fitting(kind, open_fields, packet.entities) | fields


def _filled(kind: type[ConversationContext], packet: HandoffPacket, entities: Collection[str] = ()) -> dict[str, Any]:
    names = _own_fields(kind)
    return fitting(kind, names, filling_values(packet, entities)) if names else {}


_own_fields = cache(own_fields)


def _own_values(context: ConversationContext) -> dict[str, JsonValue]:
    """Return the fields of the subclass that a packet includes, as JSON values."""
    kind = type(context)
    names = _own_fields(kind)
    if not names:
        return {}
    values = values_of(context)
    included = {name for name in names if name in values and _is_included(context, name, values)}
    try:
        text = context.model_dump_json(include=included, round_trip=True, by_alias=False, warnings=False)
        dumped: dict[str, JsonValue] = (
            withheld(marked(context, from_json(text))) if has_secrets(kind) else from_json(text)
        )
    except (PydanticSerializationError, ValueError) as error:
        raise _refusal((f"internal_state: {error}",)) from error
    return dumped


def _is_included(context: ConversationContext, name: str, values: Mapping[str, Any]) -> bool:
    """Return whether the packet includes a field: it differs from its default, or contradicts an older value."""
    kind, value = type(context), values[name]
    default = kind.model_fields[name].get_default(call_default_factory=True, validated_data=dict(values))
    if value != default:
        return True
    if name in context.internal_state:  # from an earlier agent; an invalid value never filled the field
        return any(earlier != value for earlier in fitting(kind, (name,), context.internal_state).values())
    return name in context.entities and not _is_empty(value)


def _is_empty(value: Any) -> bool:
    """Return whether a value is None or an empty text or collection. False and 0 are values."""
    return value is None or (isinstance(value, str | bytes | list | tuple | dict | set | frozenset) and not value)


def _shortened(messages: list[Message], last: int | None, summarize: Summarize | None) -> tuple[Message, ...]:
    if last is not None and last < 0:
        raise _refusal((f"last: {last} is negative; give the number of messages to include",))
    start = 0 if last is None else max(0, len(messages) - last)
    left_out, kept = tuple(messages[:start]), tuple(messages[start:])
    text = summarize(left_out) if summarize and left_out else ""
    return (Message(role=SUMMARY, content=text, time=left_out[-1].time), *kept) if text else kept


def _left_out(parts: dict[str, Any], without: Iterable[str]) -> dict[str, Any]:
    dropped = {without} if isinstance(without, str) else set(without)
    if not dropped:
        return parts
    keys = {name for name in dropped if name.partition(".")[0] in _KEYED}
    if unknown := dropped - keys - HandoffPacket.model_fields.keys():
        raise _refusal(tuple(f"without: a packet has no field {name!r}" for name in sorted(unknown)))
    for part in _KEYED:
        parts[part] = {key: value for key, value in parts[part].items() if f"{part}.{key}" not in keys}
    return {name: value for name, value in parts.items() if name not in dropped}


def _packet(fields: Mapping[str, Any]) -> HandoffPacket:
    try:
        return HandoffPacket(**fields)
    except ValidationError as error:
        raise _refusal(problems_of(error)) from error


def _refusal(problems: tuple[str, ...]) -> PacketError:
    remedy = f"A packet has the fields {', '.join(HandoffPacket.model_fields)} and others, all of JSON values"
    return PacketError(problems, SCHEMA_VERSION, remedy)


def _new(known: Iterable[PartT], brought: Iterable[PartT]) -> Iterator[PartT]:
    """Yield new parts. A part that occurs more often than in the known parts is new for each further occurrence."""
    counts = Counter(part.model_dump_json() for part in known)
    for part in brought:
        text = part.model_dump_json()
        if counts[text]:
            counts[text] -= 1
        else:
            yield part


def _merged(known: Metadata, brought: Metadata) -> Metadata:
    filled = {name: value for name, value in values_of(brought).items() if value != ""}
    return Metadata(**values_of(known) | filled)


def _copied(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    copy: dict[str, JsonValue] = from_json(to_json(values)) if values else {}
    return copy
