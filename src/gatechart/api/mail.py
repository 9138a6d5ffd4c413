"""Commands and verbs for mail that is not applied yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from gatechart.api.arguments import made
from gatechart.api.codec import MAIL, MAILS, Answer
from gatechart.api.command import Command, Count, Executor, WritingCommand
from gatechart.api.route import Route
from gatechart.turn.arguments import known_number
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import AgentId
from gatechart.values.secrets import all_shown, shown


class MailCommand(Command):
    """`mail`."""

    answer: ClassVar[Answer[Any]] = MAILS
    route: ClassVar[Route] = Route("GET", "/mail", "List mail in the order accepted, a page at a time")
    verb: Literal["mail"] = "mail"
    to: AgentId | None = None
    status: MailStatus | None = None
    after: Count = 0
    limit: Count = 100
    framework: bool | None = None  # as in `FindCommand`


class RetryCommand(WritingCommand):
    """`retry`. A repeat reports that the mail is already waiting."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route(
        "POST", "/mail/{number}/retry", "Deliver refused or dead mail again, or retry failed mail now"
    )
    verb: Literal["retry"] = "retry"
    number: Count
    to: AgentId | None = None


class DiscardCommand(WritingCommand):
    """`discard`. A repeat raises UnknownMailError."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route("POST", "/mail/{number}/discard", "Delete refused, dead or unreadable mail")
    verb: Literal["discard"] = "discard"
    number: Count
    to: AgentId | None = None


class FireTimerCommand(WritingCommand):
    """`fire_timer`. A repeat after the timer was applied raises NoTimerError."""

    answer: ClassVar[Answer[Any]] = MAIL
    route: ClassVar[Route] = Route("POST", "/mail/{number}/fire", "Fire a timer now, for a reason that is recorded")
    verb: Literal["fire_timer"] = "fire_timer"
    number: Count
    reason: str
    to: AgentId | None = None


class MailHome(Executor):
    """The part of `AgentHome` for mail that is not applied yet."""

    async def mail(
        self,
        to: AgentId | None = None,
        *,
        status: MailStatus | str | None = None,
        after: int = 0,
        limit: int = 100,
        framework: bool = False,
    ) -> Sequence[Mail]:
        """List mail in the order accepted, a page at a time: pass the number of the last as `after`.

        status: waiting, refused, dead, or unreadable if damaged in the database; applied mail is in the history.
        framework: include mail to gatechart's internal agents, such as schedules. It is always included with `to`.
        Raises PayloadError.
        """
        command = made(MailCommand, to=to, status=status, after=after, limit=limit, framework=framework or None)
        letters: Sequence[Mail] = await self.execute(command)
        return all_shown(letters)

    async def retry(self, number: int, *, to: AgentId | None = None) -> Mail:
        """Deliver refused or dead mail again, after the mail that waits for the agent.

        Failed mail that waits for its next attempt keeps its position, and is tried at once.
        to: the recipient; needed only if mail is numbered per agent (`capabilities.lists_all_mail` is False).
        Raises UnknownMailError, and EventIdReusedError if its id now belongs to another event.
        """
        mail: Mail = await self.execute(made(RetryCommand, number=known_number(number), to=to))
        return shown(mail)

    async def discard(self, number: int, *, to: AgentId | None = None) -> Mail:
        """Delete mail that is refused, dead or unreadable, and return it. to: as in `retry`.

        Raises UnknownMailError.
        """
        mail: Mail = await self.execute(made(DiscardCommand, number=known_number(number), to=to))
        return shown(mail)

    async def fire_timer(self, number: int, *, reason: str, to: AgentId | None = None) -> Mail:
        """Deliver a timer, or other mail with a due time, now, in its order, instead of at its due time.

        number: the timer's number, as `mail` lists it. to: as in `retry`.
        reason: recorded in the history with the origin "operator".
        Raises NoTimerError if no such mail is waiting, PayloadError if the reason is empty.
        """
        mail: Mail = await self.execute(made(FireTimerCommand, number=number, reason=reason, to=to))
        return shown(mail)
