"""What committed turns end and begin, but for the mail that they send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, or_, update

from gatechart.stores.dialects import listed
from gatechart.stores.mail_rows import mail_row
from gatechart.stores.rows import to_json
from gatechart.stores.statements import Many
from gatechart.stores.tables import WAITS, invokes, mail
from gatechart.values import (
    Adopt,
    AgentId,
    Amend,
    Call,
    Cancel,
    CancelAll,
    CancelTimer,
    Effect,
    Invocation,
    TurnRecord,
)

Row: TypeAlias = dict[str, Any]

_ID: Final[BindParameter[str]] = bindparam("of_id")
_AGENT: Final[BindParameter[int]] = bindparam("agent")
_STATE: Final[BindParameter[str]] = bindparam("of_state")
_KEY: Final[BindParameter[str]] = bindparam("of_key")
_NUMBER: Final[BindParameter[int]] = bindparam("of_number")
_EPOCH: Final[BindParameter[int]] = bindparam("of_epoch")
_INVOKE: Final[BindParameter[str]] = bindparam("of_invoke")

CONSUME: Final = Many(delete(mail).where(mail.c.number.in_(listed(int))))

_IS_TIMER: Final = or_(mail.c.state.is_not(None), mail.c.key.is_not(None))
_OWN_MAIL: Final = delete(mail).where(mail.c.recipient == _ID, WAITS)
END_MAIL_OF_STATE: Final = Many(_OWN_MAIL.where(mail.c.state == _STATE))
END_MAIL_OF_KEY: Final = Many(_OWN_MAIL.where(mail.c.key == _KEY))
END_MAIL: Final = Many(delete(mail).where(mail.c.recipient.in_(listed()), WAITS, _IS_TIMER))
END_NUMBER: Final = Many(delete(mail).where(mail.c.number == _NUMBER, WAITS))
AMEND: Final = Many(
    update(mail).where(mail.c.number == _NUMBER, WAITS),
    [column.name for column in mail.c if column is not mail.c.number],
)

_OWN_CALLS: Final = delete(invokes).where(invokes.c.agent == _AGENT)  # their steps go with them
_ONE_CALL: Final = (
    invokes.c.agent == _AGENT,
    invokes.c.state == _STATE,
    invokes.c.epoch == _EPOCH,
    invokes.c.invoke == _INVOKE,
)
END_CALLS_OF_STATE: Final = Many(_OWN_CALLS.where(invokes.c.state == _STATE))
END_CALLS: Final = Many(delete(invokes).where(invokes.c.agent.in_(listed(int))))
END_CALL: Final = Many(delete(invokes).where(*_ONE_CALL))
ADOPT: Final = Many(update(invokes).where(*_ONE_CALL), ["state", "epoch", "invoke", "context"])
BEGIN: Final = Many(insert(invokes), ["agent", "state", "epoch", "invoke", "context"])


def carry_out(connection: Connection, turns: Sequence[TurnRecord], keys: Mapping[AgentId, int]) -> None:
    """Forgets the mail that the turns consumed, ends what they end, and then begins what they begin."""
    consumed = [turn.consumes for turn in turns if turn.consumes is not None]
    if consumed:
        CONSUME.run(connection, [{"values": to_json(consumed)}])
    asked = [(turn, effect) for turn in turns for effect in turn.effects]
    _end_all(connection, [turn.snapshot.agent_id for turn, effect in asked if isinstance(effect, CancelAll)], keys)
    kinds = {type(effect) for _, effect in asked}
    for kind, statement, row_of in _CARRIED_OUT:
        if kind in kinds:
            rows = (
                {_ID.key: turn.snapshot.agent_id, _AGENT.key: keys[turn.snapshot.agent_id], **row}
                for turn, effect in asked
                if isinstance(effect, kind) and (row := row_of(effect, turn)) is not None
            )
            statement.run(connection, rows)


def _end_all(connection: Connection, agent_ids: Sequence[AgentId], keys: Mapping[AgentId, int]) -> None:
    """Ends what agents have pending. What other effects amend or begin comes after that."""
    if agent_ids:
        END_MAIL.run(connection, [{"values": to_json(agent_ids)}])
        END_CALLS.run(connection, [{"values": to_json([keys[agent_id] for agent_id in agent_ids])}])


def _left(effect: Cancel, _turn: TurnRecord) -> Row:
    return {_STATE.key: effect.state}


def _cancelled(effect: CancelTimer, _turn: TurnRecord) -> Row:
    return {_KEY.key: effect.key}


def _forgotten(effect: Amend, _turn: TurnRecord) -> Row | None:
    return {_NUMBER.key: effect.number} if effect.mail is None else None


def _amended(effect: Amend, _turn: TurnRecord) -> Row | None:
    return None if effect.mail is None else {_NUMBER.key: effect.number, **mail_row(effect.mail)}


def _given_up(effect: Adopt, _turn: TurnRecord) -> Row | None:
    return _call(effect.invocation) if effect.running is None else None


def _adopted(effect: Adopt, _turn: TurnRecord) -> Row | None:
    if effect.running is None:
        return None
    new = effect.running.invocation
    given = {"state": new.state, "epoch": new.epoch, "invoke": new.invoke, "context": effect.running.context}
    return _call(effect.invocation) | given


def _begun(effect: Call, turn: TurnRecord) -> Row:
    after = turn.snapshot
    return {"state": effect.state, "epoch": after.version, "invoke": effect.invoke, "context": after.context}


def _call(invocation: Invocation) -> Row:
    return {_STATE.key: invocation.state, _EPOCH.key: invocation.epoch, _INVOKE.key: invocation.invoke}


_CARRIED_OUT: Final[Sequence[tuple[type[Effect], Many, Callable[[Any, TurnRecord], Row | None]]]] = (
    (Cancel, END_MAIL_OF_STATE, _left),
    (Cancel, END_CALLS_OF_STATE, _left),
    (CancelTimer, END_MAIL_OF_KEY, _cancelled),
    (Amend, END_NUMBER, _forgotten),
    (Amend, AMEND, _amended),
    (Adopt, END_CALL, _given_up),
    (Adopt, ADOPT, _adopted),
    (Call, BEGIN, _begun),
)
