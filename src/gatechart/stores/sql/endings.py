"""What committed turns end and begin, but for the mail that they send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, or_, update

from gatechart.stores.sql.agent_rows import to_json
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.mail_rows import mail_row
from gatechart.stores.sql.statements import Many
from gatechart.stores.sql.tables import WAITS, invokes, mail
from gatechart.values import (
    ActiveInvocation,
    AgentId,
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Invocation,
    Mail,
    Offer,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    TurnRecord,
    refuse_unknown,
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
    rows: dict[Many, list[Row]] = {statement: [] for statement in _IN_ORDER}
    for turn, effect in asked:
        of_whom = {_ID.key: turn.snapshot.agent_id, _AGENT.key: keys[turn.snapshot.agent_id]}
        for statement, row in _rows(effect, turn):
            rows[statement].append(of_whom | row)
    for statement, wanted in rows.items():
        if wanted:
            statement.run(connection, wanted)


def _end_all(connection: Connection, agent_ids: Sequence[AgentId], keys: Mapping[AgentId, int]) -> None:
    """Ends what agents have pending. What other effects amend or begin comes after that."""
    if agent_ids:
        END_MAIL.run(connection, [{"values": to_json(agent_ids)}])
        END_CALLS.run(connection, [{"values": to_json([keys[agent_id] for agent_id in agent_ids])}])


def _rows(effect: Effect, turn: TurnRecord) -> Iterator[tuple[Many, Row]]:
    """What an effect leaves to do here, beside what `_end_all` does: each statement with its row."""
    match effect:
        case Cancel(state):
            yield END_MAIL_OF_STATE, {_STATE.key: state}
            yield END_CALLS_OF_STATE, {_STATE.key: state}
        case CancelTimer(key):
            yield END_MAIL_OF_KEY, {_KEY.key: key}
        case ReplaceMail(number, changed):
            yield _amended(number, changed)
        case ReplaceInvocation(invocation, running):
            yield _adopted(invocation, running)
        case StartInvoke(state, invoke):
            after = turn.snapshot
            yield BEGIN, _given(Invocation(after.agent_id, state, after.version, invoke), after.context)
        case CancelAll() | Send() | Timer() | Offer() | ChangeHandoff():  # mail goes by the desk, handoffs by the book
            pass
        case _:
            refuse_unknown(effect)


def _amended(number: int, changed: Mail | None) -> tuple[Many, Row]:
    if changed is None:
        return END_NUMBER, {_NUMBER.key: number}
    return AMEND, {_NUMBER.key: number, **mail_row(changed)}


def _adopted(invocation: Invocation, running: ActiveInvocation | None) -> tuple[Many, Row]:
    if running is None:
        return END_CALL, _call(invocation)
    return ADOPT, _call(invocation) | _given(running.invocation, running.context)


def _given(new: Invocation, context: str) -> Row:
    return {"state": new.state, "epoch": new.epoch, "invoke": new.invoke, "context": context}


def _call(invocation: Invocation) -> Row:
    return {_STATE.key: invocation.state, _EPOCH.key: invocation.epoch, _INVOKE.key: invocation.invoke}


_IN_ORDER: Final = (
    END_MAIL_OF_STATE,
    END_CALLS_OF_STATE,
    END_MAIL_OF_KEY,
    END_NUMBER,
    AMEND,
    END_CALL,
    ADOPT,
    BEGIN,
)
"""What ends comes before what begins."""
