"""The tables of a gatechart database. The migrations in `persistence/` build the same; a test says so."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)

agents = Table(
    "agents",
    metadata,
    Column("key", Integer, primary_key=True),  # in the order of starting; the other tables know agents by it
    Column("id", String, nullable=False, unique=True),
    Column("graph", String, nullable=False),
    Column("graph_version", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("configuration", Text, nullable=False),  # JSON, the active leaves
    Column("context", Text, nullable=False),  # JSON
    Column("version", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("memory", Text),  # JSON, what the history states remember; NULL where nothing
    Index("ix_agents_graph_status", "graph", "status"),
)

history = Table(
    "history",
    metadata,
    Column("agent", ForeignKey("agents.key", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("event", String, nullable=False),
    Column("event_id", String),  # the sender's; NULL where it gave none
    Column("payload", Text),  # JSON; NULL where empty
    Column("sender", String),
    Column("time_us", BigInteger, nullable=False),  # of the event, since 1970, UTC
    Column("source", Text, nullable=False),  # JSON, the leaves before
    Column("target", Text, nullable=False),  # JSON, the leaves after
    Column("taken", Text),  # JSON, the transitions' labels; NULL where none
    Column("changed", Text),  # JSON, the context's fields that changed; NULL where none
    Column("status", String, nullable=False),
    Column("took_us", Integer, nullable=False),
    Column("guard_errors", Text),  # JSON; NULL where none
    sqlite_with_rowid=False,
)

Index(
    "uq_history_agent_event_id",
    history.c.agent,
    history.c.event_id,
    unique=True,
    sqlite_where=history.c.event_id.is_not(None),
    postgresql_where=history.c.event_id.is_not(None),
)

owner = Table(
    "owner",
    metadata,
    Column("id", SmallInteger, CheckConstraint("id = 1", name="single"), primary_key=True),
    Column("epoch", Integer, nullable=False),  # raised by every runtime that takes the database over
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("since_us", BigInteger, nullable=False),
)
