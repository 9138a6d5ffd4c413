"""Conditions on searchable fields, in the form that a command carries."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from pydantic import AllowInfNan, BaseModel, BeforeValidator, ConfigDict, Field, Strict, TypeAdapter
from pydantic_core import from_json

from gatechart.values.search import LONGEST_VALUE

_Figure: TypeAlias = (
    Annotated[int, Strict(), Field(ge=-(2**53), le=2**53)] | Annotated[float, Strict(), AllowInfNan(False)]
)
_Word: TypeAlias = Annotated[str, Strict(), Field(max_length=LONGEST_VALUE, pattern=r"^[^\x00\x1a]*$")]
Sought: TypeAlias = Annotated[bool, Strict()] | _Figure | _Word
"""A value to search for."""


class Bounds(BaseModel):
    """Bounds of the values to find: lower and upper bounds, inclusive or exclusive, or a prefix of texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ge: Sought | None = None
    gt: Sought | None = None
    le: Sought | None = None
    lt: Sought | None = None
    prefix: _Word | None = None


Wanted: TypeAlias = Sought | list[Sought] | Bounds
WANTED: Final[TypeAdapter[Wanted]] = TypeAdapter(Wanted)
Where: TypeAlias = Annotated[
    dict[str, Wanted],
    BeforeValidator(lambda given: from_json(given) if isinstance(given, str) else given),  # in a query it is JSON text
]
