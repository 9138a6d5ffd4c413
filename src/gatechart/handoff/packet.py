"""The packet: everything the next agent needs to know, validated, versioned, and never lossy."""

# Annotations are not postponed here: pydantic before 2.13 would look for `JsonValue` where a subclass is defined.

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias

from pydantic import AfterValidator, AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, JsonValue

from gatechart.values.handoffs import Mode, Obstacle, Reason
from gatechart.values.names import in_utc
from gatechart.values.profiles import Needs

Time: TypeAlias = Annotated[AwareDatetime, AfterValidator(in_utc)]
"""An aware time, kept in UTC: zones with seconds in their offset would not survive JSON."""


def _is_empty(value: object) -> bool:
    """Return whether to leave a field out of JSON, so that packets without it keep the bytes that they had before."""
    return not value


class Part(BaseModel):  # noqa: PLW1641  pydantic hashes frozen models
    """The base of everything in a packet: frozen, and it keeps unknown fields, if they are JSON values."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        allow_inf_nan=False,
        str_min_length=0,  # any length; but pydantic checks text for lone surrogates only if it has a length constraint
    )

    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    def __eq__(self, other: object) -> bool:
        """Compare as pydantic does, in half the time for equal parts, such as the ones read back in each turn."""
        if (
            type(other) is type(self)
            and self.__dict__ == other.__dict__
            and self.__pydantic_extra__ == other.__pydantic_extra__
            and self.__pydantic_private__ == other.__pydantic_private__
        ):
            return True
        return super().__eq__(other)


class Priority(StrEnum):
    """How urgent the work is."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class TextPart(Part):
    """A piece of text among the parts of a message or of a tool's result."""

    text: str


class MediaPart(Part):
    """An image, audio, a document or another file. Exactly one of `url`, `data` and `digest` locates its bytes."""

    media_type: str  # "image/png"
    name: str = Field(default="", exclude_if=_is_empty)  # of the file
    url: str = Field(default="", exclude_if=_is_empty)
    data: str = Field(default="", exclude_if=_is_empty)  # base64
    digest: str = Field(default="", exclude_if=_is_empty)  # SHA-256 of bytes that the agent's journal holds once
    agent: str = Field(default="", exclude_if=_is_empty)  # the journal's owner; set with a digest, as is `journal`
    journal: str = Field(default="", exclude_if=_is_empty)  # its name
    size: int = Field(default=0, exclude_if=_is_empty)  # of the bytes; 0 if unknown


class ProviderMessage(Part):
    """A model's message exactly as its provider sent it: order of blocks, unknown fields, ids and signatures."""

    dialect: str  # wire format: "openai.chat", "anthropic.messages", "pydantic-ai"
    model: str = Field(default="", exclude_if=_is_empty)  # the model that wrote it
    host: str = Field(default="", exclude_if=_is_empty)  # public, of the provider's URL: providers share dialects
    message: JsonValue


class ToolCall(Part):
    """A tool call made while a message was written."""

    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    output: JsonValue = None
    error: str = ""  # what went wrong; empty if nothing did
    id: str = ""  # from the model that made the call; empty if unknown
    parts: tuple[TextPart | MediaPart, ...] = Field(default=(), exclude_if=_is_empty)  # the output, where it has media


class Message(Part):
    """A message of the conversation."""

    role: str  # the speaker: user, agent, ...; `SUMMARY` for a summary of omitted messages
    content: str = ""  # its text; of a message with parts, the text of all of them
    time: Time | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    id: str = Field(default="", exclude_if=_is_empty)  # unique in a conversation; an edited message keeps it
    parts: tuple[TextPart | MediaPart, ...] = Field(default=(), exclude_if=_is_empty)  # in order, where it has media
    verbatim: ProviderMessage | None = Field(default=None, exclude_if=_is_empty)  # None where it was edited


class ReasoningStep(Part):
    """One attempted action and its outcome."""

    step_id: str
    action: str
    details: str = ""
    outcome: str = ""
    reasoning: str = ""  # why it was tried


class Metadata(Part):
    """Metadata of the whole conversation."""

    locale: str = ""
    environment: str = ""
    priority: Priority = Priority.NORMAL


class PathStep(Part):
    """An agent that had the work."""

    agent: str
    graph: str
    entry_point: str = ""
    state: str = ""  # its state when it handed the work on
    achieved: str = ""  # in words; empty if nothing was achieved
    time: Time | None = None  # when it handed the work on
    handoff: str = ""  # id of the handoff that it took the work from; empty for the first agent
    recipient: str = ""  # its entry in the directory; empty if it was not chosen there


class SelectionTerms(Part):
    """The criteria of a selection, in their form in a packet. `terms_of` builds them from a `Best`."""

    capabilities: tuple[str, ...] = ()  # this and the next four are the needs of the work
    domains: tuple[str, ...] = ()
    tier: int = 0
    languages: tuple[str, ...] = ()
    all: bool = False
    weights: dict[str, FiniteFloat] = Field(default_factory=dict)  # of scorers, by name
    order: tuple[str, ...] = ()  # names of scorers; if any, they decide one after another
    filters: tuple[str, ...] = ()  # names of filters, besides the ones that always apply
    least: FiniteFloat | None = None  # lowest text score of a match; None: the directory's
    entries: tuple[str, ...] = ()  # ids in the directory to choose from, whatever texts say; empty: all
    no_rule: bool = False  # whether rules were declared and none applied

    @property
    def needs(self) -> Needs:
        """The needs of the work."""
        return Needs(self.capabilities, self.domains, self.tier, self.languages, self.all)


class FallbackKind(StrEnum):
    """The target of a fallback."""

    SAME_TARGET = "same_target"  # the target that was tried last
    OTHER_GRAPH = "other_graph"  # another graph, or an agent of it
    HUMAN = "human"  # a graph that represents people, or an agent of it
    BEST = "best"  # the best target in the directory

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Read the names that older stored packets use."""
        return {"again": cls.SAME_TARGET, "other": cls.OTHER_GRAPH, "person": cls.HUMAN}.get(str(value))


class FallbackStep(Part):
    """A fallback that was not tried yet, in its form in a packet. `fallback_steps` builds it from `Fallbacks`."""

    kind: FallbackKind
    graph: str = ""  # this and the next two are for other graphs and humans
    entry_point: str = ""
    agent: str = ""  # an existing agent; a new one if empty
    attempts: int = Field(1, ge=1)  # this and the following are for retries, as in `Retry`
    first_s: FiniteFloat = Field(1.0, ge=0)
    factor: FiniteFloat = Field(2.0, ge=1)
    most_s: FiniteFloat = Field(60.0, ge=0)
    selection: SelectionTerms | None = None  # for the best target


class Attempt(Part):
    """An offer that failed, or a choice without a match."""

    handoff_id: str = ""
    graph: str = ""
    entry_point: str = ""
    agent: str = ""
    recipient: str = ""  # id of its target in the directory; empty if it was not chosen there
    obstacle: Obstacle | None = None
    details: str = ""
    time: Time | None = None


def readable(text: str) -> str:
    r"""Escape lone surrogates in a text; exceptions may contain them.

    >>> readable("ünï" + chr(0xD800))
    'ünï\\ud800'
    """
    return text.encode(errors="backslashreplace").decode()


SCHEMA_VERSION: Final = 1
"""Version of the packets that this release writes."""

FALLBACK_FIELDS: Final = ("fallbacks", "ladder")
"""Names under which packets store their fallbacks: the current one, then the one in older packets."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class HandoffPacket(Part):
    """The content that one agent hands to another. All of it survives JSON unchanged, unknown fields included.

    The user fills in the content, the framework fills in the sender and the recipient. Values that JSON cannot hold
    raise pydantic's ValidationError, which names their path: NaN and infinity, text with lone surrogates, and anything
    that is not a JSON value. As always in pydantic, `model_copy` checks nothing.

    >>> packet = HandoffPacket(reason=Reason.OUT_OF_SCOPE, current_problem="a fridge to repair", mood="cold")
    >>> HandoffPacket.model_validate(packet.model_dump(mode="json")) == packet
    True
    """

    fits_every_context: ClassVar[bool] = True  # read by the validation of graphs: see `fields_for`

    schema_version: int = SCHEMA_VERSION
    handoff_id: str = ""
    request: str = ""  # id of the first attempt
    session_id: str = ""
    user_id: str = ""
    source_agent: str = ""
    source_graph: str = ""
    source_state: str = ""
    target_agent: str = ""
    target_graph: str = ""
    entry_point: str = ""
    recipient: str = ""  # id of the chosen target in the directory; empty if none was chosen there
    selection: SelectionTerms | None = None  # criteria for the target; None if it is fixed, or nothing matched
    is_new: bool = True  # whether the handoff starts the target
    mode: Mode = Mode.TRANSFER
    reason: Reason = Reason.OTHER
    initial_query: str = ""
    current_problem: str = ""
    conversation: tuple[Message, ...] = ()  # oldest first
    reasoning: tuple[ReasoningStep, ...] = ()  # oldest first
    entities: dict[str, JsonValue] = Field(default_factory=dict)
    internal_state: dict[str, JsonValue] = Field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    suggested_action: str = ""
    metadata: Metadata = Metadata()
    deadline: Time | None = None
    path: tuple[PathStep, ...] = ()  # the agents so far; the last one hands the work on
    fallbacks: tuple[FallbackStep, ...] = Field(
        default=(), validation_alias=AliasChoices(*FALLBACK_FIELDS)
    )  # not tried yet
    attempts: tuple[Attempt, ...] = ()  # failed attempts, oldest first
    evidence: str = ""  # of the loop that escalated it to a person, or of the choice without a match
    traceparent: str = ""  # of the offer, in W3C Trace Context form; empty if not traced


def packet_schema() -> dict[str, Any]:
    """Return the JSON Schema of packets, draft 2020-12, for packets from and to other systems."""
    return {"$schema": _DIALECT} | HandoffPacket.model_json_schema()
