"""The command that raises an alarm."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from gatechart.api.base_command import Plain, WritingCommand
from gatechart.api.codec import ALARM_RAISED, Answer
from gatechart.api.route import Route
from gatechart.values import LONGEST_NAME, AgentId

MOST_NAMED: Final = 1000
"""How many agents an alarm may name."""


class AlarmCommand(WritingCommand):
    """`alarm`. Its id makes it safe to repeat."""

    answer: ClassVar[Answer[Any]] = ALARM_RAISED
    route: ClassVar[Route] = Route("POST", "/alarms", "Raise an alarm, of which agents hear as `alarm.NAME`")
    verb: Literal["alarm"] = "alarm"
    name: Annotated[str, Field(max_length=200)]
    alarm_id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME - 10)]
    payload: Plain | None = None
    to: Annotated[tuple[AgentId, ...], Field(max_length=MOST_NAMED)] = ()
    graph: str | None = None
    where: Plain | None = None
    most: Annotated[int, Field(ge=1, le=1000)] = 100
