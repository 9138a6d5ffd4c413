"""What a transaction makes of mail and invocations, worked out before any of it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, update

from gatechart.stores.ledger import Book
from gatechart.stores.refusing import refused_for_its_id
from gatechart.stores.sql.agent_rows import Texts, to_json
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.load import Content, applied, content_of, numbered, under_way, waiting
from gatechart.stores.sql.mail_rows import mail_row, new_mail_row
from gatechart.stores.sql.statements import Many, Sparse
from gatechart.stores.sql.tables import invokes, mail, steps
from gatechart.values import (
    Answer,
    Invocation,
    Mail,
    MailChange,
    MailEnd,
    MailStatus,
    Posting,
    Report,
    ReserveSlot,
    StepRecord,
    StoreTask,
    Verdict,
)

_NUMBER: Final[BindParameter[int]] = bindparam("of_number")

ACCEPT: Final = Sparse(insert(mail))
CHANGE: Final = Many(
    update(mail).where(mail.c.number == _NUMBER),
    [column.name for column in mail.c if column is not mail.c.number],
)
FORGET: Final = Many(delete(mail).where(mail.c.number.in_(listed(int))))
RECORD: Final = Many(insert(steps))
END: Final = delete(invokes).where(invokes.c.key.in_(listed(int)))  # the steps go with them


class Desk:
    """Takes mail and errands one after the other, each in the light of those before; then writes what has changed."""

    def __init__(
        self, connection: Connection, sent: Sequence[Mail], errands: Sequence[StoreTask], book: Book | None
    ) -> None:
        """Reads what stands of all that they are about. book: of their handoffs; None where they are about none."""
        self._book = book
        self._connection = connection
        named = [(each.recipient, each.id) for each in (*sent, *_accepted(errands)) if each.id is not None]
        self._applied = applied(connection, named)
        self._waiting = waiting(connection, named)
        self._mail = {each.number: each for each in self._waiting.values()} | numbered(connection, _numbers(errands))
        self._stored = frozenset(self._mail)
        self._touched: dict[int, None] = {}  # numbers of mail that is not as it was, in order
        self._keys, self._recorded = under_way(connection, _steps(errands))
        self._results: list[dict[str, object]] = []
        self._ended: list[int] = []

    def accept(self, new: Mail) -> Verdict:
        """Keeps mail, but for such as came under its id before."""
        verdict = self._as_repeated(new)
        if verdict is Verdict.COMMITTED:
            self._put(new)
        return verdict

    def accept_sent(self, new: Mail) -> None:
        """Keeps what a turn sends; as refused where its id stands for something else."""
        before = self._before(new)
        if before is None:
            self._put(new)
        elif before != content_of(new):
            self._put(refused_for_its_id(new, before[0]))

    def take(self, errand: StoreTask) -> Verdict:
        """What becomes of an errand."""
        match errand:
            case Posting(new):
                return self.accept(new)
            case MailChange(changed, raised):
                return self._change(changed, raised)
            case MailEnd(number):
                return self._forget(number)
            case StepRecord():
                return self._record(errand)
            case Report():
                return self._report(errand)
            case Answer():
                return self._answer(errand)
            case ReserveSlot():
                return Verdict.STALE if self._book is None else self._book.reserve(errand)
            case _:
                assert_never(errand)

    def write(self, texts: Texts) -> None:
        """Leaves the database as the errands leave mail and invocations. texts: see `mail_row`."""
        forgotten = [number for number in self._touched if number not in self._mail and number in self._stored]
        kept = [self._mail[number] for number in self._touched if number in self._mail]
        if forgotten:
            FORGET.run(self._connection, [{"values": to_json(forgotten)}])
        changed = (mail_row(each) | {_NUMBER.key: each.number} for each in kept if each.number in self._stored)
        CHANGE.run(self._connection, changed)
        ACCEPT.run(self._connection, (new_mail_row(each, texts) for each in kept if each.number not in self._stored))
        RECORD.run(self._connection, self._results)
        if self._ended:
            self._connection.execute(END, {"values": to_json(self._ended)})

    def _change(self, changed: Mail, raised: Mail | None) -> Verdict:
        before = self._mail.get(changed.number)
        if before is None or (raised is not None and before.status is not MailStatus.WAITING):
            return Verdict.STALE
        waits_again = changed.status is MailStatus.WAITING and before.status is not MailStatus.WAITING
        verdict = self._as_repeated(changed) if waits_again else Verdict.COMMITTED
        if verdict is Verdict.COMMITTED:
            self._drop(before)
            self._put(changed)
            if raised is not None:
                self._put(raised)
        return verdict

    def _forget(self, number: int) -> Verdict:
        before = self._mail.get(number)
        if before is None:
            return Verdict.STALE
        self._drop(before)
        return Verdict.COMMITTED

    def _record(self, step: StepRecord) -> Verdict:
        key = self._keys.get(step.invocation)
        if key is None:
            return Verdict.STALE
        if (step.invocation, step.name) in self._recorded:
            return Verdict.REPEATED
        self._recorded.add((step.invocation, step.name))
        self._results.append({"invocation": key, "name": step.name, "result": step.result})
        return Verdict.COMMITTED

    def _report(self, report: Report) -> Verdict:
        key = self._keys.get(report.invocation)
        if key is None:
            return Verdict.STALE
        if report.ends:
            del self._keys[report.invocation]
            self._ended.append(key)
        self._put(report.mail)
        return Verdict.COMMITTED

    def _answer(self, answer: Answer) -> Verdict:
        consumed = self._mail.get(answer.consumes)
        if consumed is None or consumed.status is not MailStatus.WAITING or self._book is None:
            return Verdict.STALE
        if not self._book.settle((answer.settle,), answer.time):
            return Verdict.STALE
        self._drop(consumed)
        self._put(answer.reply)
        return Verdict.COMMITTED

    def _as_repeated(self, new: Mail) -> Verdict:
        """COMMITTED where nothing came before under the mail's id, else what is to be said of it."""
        before = self._before(new)
        if before is None:
            return Verdict.COMMITTED
        return Verdict.REPEATED if before == content_of(new) else Verdict.REUSED

    def _before(self, new: Mail) -> Content | None:
        """What came before under the mail's id, and waits or was applied."""
        if new.id is None:
            return None
        name = new.recipient, new.id
        return self._applied.get(name) or (content_of(self._waiting[name]) if name in self._waiting else None)

    def _put(self, each: Mail) -> None:
        self._mail[each.number] = each
        self._touched[each.number] = None
        if each.id is not None and each.status is MailStatus.WAITING:
            self._waiting[each.recipient, each.id] = each

    def _drop(self, each: Mail) -> None:
        del self._mail[each.number]
        self._touched[each.number] = None
        if each.id is not None and each.status is MailStatus.WAITING:
            self._waiting.pop((each.recipient, each.id), None)


def _accepted(errands: Sequence[StoreTask]) -> Iterator[Mail]:
    """What waits, or waits again, after the errands."""
    return (errand.mail for errand in errands if isinstance(errand, Posting | MailChange | Report))


def _numbers(errands: Sequence[StoreTask]) -> list[int]:
    changed = [errand.mail.number for errand in errands if isinstance(errand, MailChange)]
    ended = [errand.number for errand in errands if isinstance(errand, MailEnd)]
    return [*changed, *ended, *(errand.consumes for errand in errands if isinstance(errand, Answer))]


def _steps(errands: Sequence[StoreTask]) -> list[tuple[Invocation, str]]:
    """The invocations that the errands are of, each with the name of its step; a report has none."""
    return [
        (errand.invocation, errand.name if isinstance(errand, StepRecord) else "")
        for errand in errands
        if isinstance(errand, StepRecord | Report)
    ]
