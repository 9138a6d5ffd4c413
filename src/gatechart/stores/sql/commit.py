"""The units of one transaction: what each finds, and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, literal_column, select, update

from gatechart.stores.ledger import Book
from gatechart.stores.sql.agent_rows import Texts, changes_row, history_row, snapshot_row, to_json
from gatechart.stores.sql.deltas import delta_of
from gatechart.stores.sql.desk import Desk
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.endings import carry_out
from gatechart.stores.sql.handoffs import read_book, touches_handoffs, write_book
from gatechart.stores.sql.statements import Ask, Sparse
from gatechart.stores.sql.tables import WAITS, agents, history, mail
from gatechart.values import AgentId, TurnRecord, Unit, Verdict, check_units

_Standing: TypeAlias = tuple[int, int, int]  # an agent's key, its version and its deltas; no tuple costs less

_KEY: Final[BindParameter[int]] = bindparam("of_key")

STANDING: Final = select(agents.c.id, agents.c.key, agents.c.version, agents.c.deltas).where(agents.c.id.in_(listed()))
_STANDING: Final = Ask(STANDING)
WAITING: Final = Ask(select(mail.c.number).where(mail.c.number.in_(listed(int)), WAITS))
LAST_KEY: Final = Ask(select(func.coalesce(func.max(agents.c.key), literal_column("0"))))
START: Final = Sparse(insert(agents))
GO_ON: Final = Sparse(update(agents).where(agents.c.key == _KEY))
REMEMBER: Final = Sparse(insert(history))


def commit_units(connection: Connection, units: Sequence[Unit]) -> list[Verdict]:
    """The verdict of each unit, as the Store port says.

    The connection holds the lock: nobody else writes meanwhile, but for those who ask, into `requests`.
    """
    check_units(units)
    turns = [unit for unit in units if isinstance(unit, TurnRecord)]
    book = read_book(connection, units) if touches_handoffs(units) else None
    keys = _commit_turns(connection, turns, book) if turns else {}
    acting = [turn for turn in turns if (turn.effects or turn.consumes is not None) and _is_in(turn, keys)]
    others = [unit for unit in units if not isinstance(unit, TurnRecord)]
    if not acting and not others:
        return [_of_turn(turn, keys) for turn in turns]
    carry_out(connection, acting, keys)
    sent = [each for turn in acting for each in turn.mail]
    desk = Desk(connection, sent, others, book)
    for each in sent:
        desk.accept_sent(each)
    verdicts = [_of_turn(unit, keys) if isinstance(unit, TurnRecord) else desk.take(unit) for unit in units]
    texts = Texts()
    desk.write(texts)
    if book is not None:
        write_book(connection, book, texts)
    return verdicts


def _commit_turns(connection: Connection, turns: Sequence[TurnRecord], book: Book | None) -> dict[AgentId, int]:
    """Writes those that go on from what stands; the keys of their agents."""
    standing = _standing(connection, turns)
    gone = _gone(connection, turns)
    keys: dict[AgentId, int] = {}
    begun: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    remembered: list[dict[str, Any]] = []
    for turn in turns:
        before, after = turn.previous, turn.snapshot
        key, version, deltas = standing[after.agent_id]
        if turn.consumes in gone or version != (before.version if before else 0):
            continue
        if book is not None and not book.takes(turn):
            continue
        keys[after.agent_id] = key
        delta = delta_of(turn, deltas)
        row = snapshot_row(after) if before is None else changes_row(before, after)
        remembered.append(history_row(turn, key, delta, row))
        if before is None:
            begun.append(row | {"key": key, "deltas": delta.deltas})
        else:
            changed.append(row | {"deltas": delta.deltas, _KEY.key: key})
    START.run(connection, begun)
    GO_ON.run(connection, changed)
    REMEMBER.run(connection, remembered)
    return keys


def _standing(connection: Connection, turns: Sequence[TurnRecord]) -> Mapping[AgentId, _Standing]:
    """What stands of each turn's agent. Those that are new have keys behind all others, in the order of their turns."""
    ids = [turn.snapshot.agent_id for turn in turns]
    found = _STANDING.all(connection, to_json(ids))
    standing: dict[AgentId, _Standing] = {agent_id: (key, version, deltas) for agent_id, key, version, deltas in found}
    new = [agent_id for agent_id in ids if agent_id not in standing]
    if new:
        ((last,),) = LAST_KEY.all(connection)
        standing |= {agent_id: (key, 0, 0) for key, agent_id in enumerate(new, last + 1)}
    return standing


def _gone(connection: Connection, turns: Sequence[TurnRecord]) -> set[int]:
    """The numbers of mail that turns would consume and that does not wait."""
    consumed = {turn.consumes for turn in turns if turn.consumes is not None}
    if not consumed:
        return set()
    waiting = WAITING.all(connection, to_json(sorted(consumed)))
    return consumed.difference(number for (number,) in waiting)


def _is_in(turn: TurnRecord, keys: dict[AgentId, int]) -> bool:
    return turn.snapshot.agent_id in keys


def _of_turn(turn: TurnRecord, keys: dict[AgentId, int]) -> Verdict:
    return Verdict.COMMITTED if _is_in(turn, keys) else Verdict.STALE
