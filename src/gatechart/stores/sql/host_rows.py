"""Rows of hosts with their latest signs of life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select

from gatechart.stores.sql.columns import check_row, from_us, json_object, kinds_of, readable, to_json, to_us
from gatechart.stores.sql.tables import hosts
from gatechart.values.homes import Role
from gatechart.values.hosts import MOST_HOSTS, HostRecord

_KINDS: Final = kinds_of(hosts)
_ALL: Final = select(hosts).order_by(hosts.c.started_us, hosts.c.id)


def beat(host: HostRecord, forget_before: datetime) -> Callable[[Connection], None]:
    """Return the work that stores a sign of life, and deletes hosts with too old ones, or in excess of the limit."""
    row = {
        "id": host.id,
        "role": host.role.value,
        "machine": host.machine,
        "pid": host.pid,
        "started_us": to_us(host.started),
        "seen_us": to_us(host.seen),
        "facts": to_json(host.facts),
    }
    newest = select(hosts.c.id).order_by(hosts.c.seen_us.desc(), hosts.c.id).limit(MOST_HOSTS)

    def write(connection: Connection) -> None:
        connection.execute(delete(hosts).where((hosts.c.id == host.id) | (hosts.c.seen_us < to_us(forget_before))))
        connection.execute(insert(hosts), [row])
        connection.execute(delete(hosts).where(hosts.c.id.not_in(newest)))

    return write


def leave(host_id: str) -> Callable[[Connection], None]:
    """Return the work that deletes a host."""

    def write(connection: Connection) -> None:
        connection.execute(delete(hosts).where(hosts.c.id == host_id))

    return write


def stored_hosts(connection: Connection) -> Sequence[HostRecord]:
    """Return the readable hosts, in the order started; unreadable rows are logged."""
    found = (readable(row, _to_host, "hosts", "id") for row in connection.execute(_ALL))
    return [host for host in found if host is not None]


def _to_host(row: Row[Any]) -> HostRecord:
    check_row(row, _KINDS)
    started, seen = from_us(row.started_us), from_us(row.seen_us)
    return HostRecord(row.id, Role(row.role), row.machine, row.pid, started, seen, json_object(row.facts, "facts"))
