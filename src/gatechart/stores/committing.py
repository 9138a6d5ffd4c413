"""The units of one transaction: what each finds, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, select, update

from gatechart.stores.deltas import delta_of
from gatechart.stores.desk import Desk
from gatechart.stores.dialects import Many, listed, text_of
from gatechart.stores.endings import carry_out
from gatechart.stores.rows import history_row, snapshot_row, to_json
from gatechart.stores.tables import WAITS, agents, history, mail
from gatechart.values import AgentId, TurnRecord, Unit, Verdict

_FIXED: Final = ("key", "id", "graph")
_KEY: Final[BindParameter[int]] = bindparam("of_key")

STANDING: Final = select(agents.c.id, agents.c.key, agents.c.version, agents.c.deltas).where(agents.c.id.in_(listed()))
_STANDING: Final = text_of(STANDING)  # asked with every commit
WAITING: Final = select(mail.c.number).where(mail.c.number.in_(listed()), WAITS)
LAST_KEY: Final = select(func.coalesce(func.max(agents.c.key), 0))
START: Final = Many(insert(agents))
_CHANGES: Final = [column.name for column in agents.c if column.name not in _FIXED]
CHANGE_STATUS: Final = Many(update(agents).where(agents.c.key == _KEY), _CHANGES)
GO_ON: Final = Many(  # without the status: SQLite writes to an index whose column is set, also to what it was
    update(agents).where(agents.c.key == _KEY), [name for name in _CHANGES if name != "status"]
)
REMEMBER: Final = Many(insert(history), [column.name for column in history.c if column is not history.c.key])


class _Standing(NamedTuple):
    """What stands of an agent; nothing of one that is to start under this key."""

    key: int
    version: int = 0
    deltas: int = 0


def commit_units(connection: Connection, units: Sequence[Unit]) -> list[Verdict]:
    """The verdict of each unit, as the Store port says. The connection holds the lock: nobody else writes meanwhile."""
    turns = [unit for unit in units if isinstance(unit, TurnRecord)]
    keys = _commit_turns(connection, turns) if turns else {}
    acting = [turn for turn in turns if (turn.effects or turn.consumes is not None) and _is_in(turn, keys)]
    others = [unit for unit in units if not isinstance(unit, TurnRecord)]
    if not acting and not others:
        return [_of_turn(turn, keys) for turn in turns]
    carry_out(connection, acting, keys)
    sent = [each for turn in acting for each in turn.mail]
    desk = Desk(connection, sent, others)
    for each in sent:
        desk.accept(each)
    verdicts = [_of_turn(unit, keys) if isinstance(unit, TurnRecord) else desk.take(unit) for unit in units]
    desk.write()
    return verdicts


def _commit_turns(connection: Connection, turns: Sequence[TurnRecord]) -> dict[AgentId, int]:
    """Writes those that go on from what stands; the keys of their agents."""
    standing = _standing(connection, turns)
    gone = _gone(connection, turns)
    begun: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []  # those whose status is another
    others: list[dict[str, Any]] = []
    remembered = []
    for turn in turns:
        agent = standing[turn.snapshot.agent_id]
        if turn.consumes in gone or agent.version != (turn.previous.version if turn.previous else 0):
            continue
        delta = delta_of(turn, agent.deltas)
        row = snapshot_row(turn.snapshot) | {"deltas": delta.deltas}
        if turn.previous is None:
            begun.append(row | {"key": agent.key})
        else:
            is_same_status = turn.previous.status is turn.snapshot.status
            (others if is_same_status else changed).append(row | {_KEY.key: agent.key})
        remembered.append(history_row(turn, agent.key, delta))
    START.run(connection, begun)
    CHANGE_STATUS.run(connection, changed)
    GO_ON.run(connection, others)
    REMEMBER.run(connection, remembered)
    going_on = {row["id"]: row[_KEY.key] for row in (*changed, *others)}
    return going_on | {row["id"]: row["key"] for row in begun}


def _standing(connection: Connection, turns: Sequence[TurnRecord]) -> dict[AgentId, _Standing]:
    """What stands of each turn's agent. Those that are new have keys behind all others, in the order of their turns."""
    ids = to_json([turn.snapshot.agent_id for turn in turns])
    found = connection.exec_driver_sql(_STANDING, (ids,)).all()
    standing = {agent_id: _Standing(key, version, deltas) for agent_id, key, version, deltas in found}
    new = [turn.snapshot.agent_id for turn in turns if turn.snapshot.agent_id not in standing]
    if new:
        first = connection.execute(LAST_KEY).scalar_one() + 1
        standing |= {agent_id: _Standing(key) for key, agent_id in enumerate(new, first)}
    return standing


def _gone(connection: Connection, turns: Sequence[TurnRecord]) -> set[int]:
    """The numbers of mail that turns would consume and that does not wait."""
    consumed = {turn.consumes for turn in turns if turn.consumes is not None}
    if not consumed:
        return set()
    waiting = connection.execute(WAITING, {"values": to_json(sorted(consumed))}).all()
    return consumed.difference(number for (number,) in waiting)


def _is_in(turn: TurnRecord, keys: dict[AgentId, int]) -> bool:
    return turn.snapshot.agent_id in keys


def _of_turn(turn: TurnRecord, keys: dict[AgentId, int]) -> Verdict:
    return Verdict.COMMITTED if _is_in(turn, keys) else Verdict.STALE
