"""Models of parts of request bodies, with all their checks: names, needs, selections, profiles and fallbacks."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from gatechart.api.directory import EntryId
from gatechart.context import told_as
from gatechart.graph.selection import WEIGHTS
from gatechart.graph.selection_faults import LONGEST_PHRASE
from gatechart.handoff.packet import FallbackKind, FallbackStep, SelectionTerms
from gatechart.values.delays import LONGEST_S
from gatechart.values.names import LONGEST_NAME, NO_NUL
from gatechart.values.profiles import DAYS, HIGHEST_COST, HIGHEST_TIER, HIGHEST_WEIGHT, Hours, Needs, Profile

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, pattern=NO_NUL)]
"""An existing id. It may be longer than a new one, as earlier releases did not limit ids."""

NewText: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=NO_NUL)]
"""A new name or id that every store can keep."""

Seconds: TypeAlias = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]

_NameOrNone: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_NAME, pattern=NO_NUL)]
"""A name or id; empty for none."""


class SameTarget(BaseModel):
    """Offer again to the same target, after a wait."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[FallbackKind.SAME_TARGET]
    attempts: Annotated[int, Field(ge=1, lt=2**31)] = 3
    first_s: Seconds = 1.0
    factor: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = 2.0
    most_s: Seconds = 60.0


class Target(BaseModel):
    """Offer to another graph, or to a human's graph, at an entry point: to a new or an existing agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[FallbackKind.OTHER_GRAPH, FallbackKind.HUMAN]
    graph: NewText
    entry_point: _NameOrNone = ""
    agent: _NameOrNone = ""


_Plain: TypeAlias = Annotated[str, StringConstraints(pattern=NO_NUL)]
_Phrase: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PHRASE, pattern=NO_NUL)]
"""A phrase in a profile or in needs."""

_Clock: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d$"), told_as("a time of day, such as '09:00'")
]
_Day: TypeAlias = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]


class TakesWork(BaseModel):
    """Working hours, in the local time of a zone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Annotated[tuple[_Day, ...], Field(min_length=1)] = DAYS
    begins: _Clock = "00:00"
    ends: _Clock = "00:00"
    zone: _Plain = "UTC"


class CanDo(BaseModel):
    """The abilities of a recipient of work. Omitted fields are taken from the entry point."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    capabilities: tuple[_Phrase, ...] = ()
    domains: tuple[_Phrase, ...] = ()
    tier: Annotated[int, Field(ge=1, le=HIGHEST_TIER)] | None = None
    languages: tuple[_Phrase, ...] = ()
    samples: tuple[_Phrase, ...] = ()
    group: _Plain = ""
    schedule: tuple[TakesWork, ...] = ()
    cost: Annotated[float, Field(ge=0, le=HIGHEST_COST, allow_inf_nan=False)] | None = None
    expected_s: Seconds | None = None


class Wanted(BaseModel):
    """The requirements of work on its recipient."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    capabilities: tuple[_Phrase, ...] = ()
    domains: tuple[_Phrase, ...] = ()
    tier: Annotated[int, Field(ge=0, le=HIGHEST_TIER)] = 0
    languages: tuple[_Phrase, ...] = ()
    all: bool = False


class Chosen(Wanted):
    """How to choose the target of a handoff: by needs, or among entries of the directory.

    Scorers and filters are the built-in ones, or functions declared by the agent's graph, by name. Without `weights`
    and `order`, the default weights decide.
    """

    weights: dict[NewText, Annotated[float, Field(ge=0, le=HIGHEST_WEIGHT, allow_inf_nan=False)]] = Field(
        default_factory=dict
    )
    order: tuple[NewText, ...] = ()
    filters: tuple[NewText, ...] = ()
    least: Annotated[float, Field(ge=0, le=1)] | None = None
    entries: tuple[EntryId, ...] = ()
    no_rule: Literal[False] = False


def _terms(given: Chosen | None) -> SelectionTerms | None:
    if given is None:
        return None
    usual = {} if given.order or "weights" in given.model_fields_set else {"weights": dict(WEIGHTS)}
    return SelectionTerms(**given.model_dump() | usual)


class BestTarget(BaseModel):
    """Offer to the best target in the directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal[FallbackKind.BEST]
    selection: Chosen = Chosen()


def _step(given: SameTarget | Target | BestTarget) -> FallbackStep:
    if isinstance(given, BestTarget):
        return FallbackStep(kind=given.kind, selection=_terms(given.selection))
    return FallbackStep(**given.model_dump())


FallbackBody: TypeAlias = Annotated[
    SameTarget | Target | BestTarget, Field(discriminator="kind"), AfterValidator(_step)
]


def _needs(given: Wanted | None) -> Needs | None:
    return None if given is None else Needs(**given.model_dump())


def _profile(given: CanDo) -> Profile:
    return Profile(**given.model_dump(exclude={"schedule"}), schedule=tuple(map(_hours, given.schedule)))


def _hours(given: TakesWork) -> Hours:
    return Hours(**given.model_dump())


BestBody: TypeAlias = Annotated[Chosen | None, AfterValidator(_terms)]
NeedsBody: TypeAlias = Annotated[Wanted | None, AfterValidator(_needs)]
ProfileBody: TypeAlias = Annotated[CanDo, AfterValidator(_profile)]
