"""The tables of a gatechart database. The migrations in `persistence/` create the same tables; a test compares them."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
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
    UniqueConstraint,
    and_,
    event,
    literal_column,
    text,
)

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)

BIG = BigInteger().with_variant(Integer, "sqlite")  # SQLite's INTEGER has 64 bits, and is the only type for row ids

# In percent: the free space lets PostgreSQL write a changed row on the same page, without index updates.
ROOM = DDL("ALTER TABLE agents SET (fillfactor = 60)").execute_if(dialect="postgresql")  # type: ignore[no-untyped-call]

agents = Table(
    "agents",
    metadata,
    Column("key", BIG, primary_key=True),  # in the order started; other tables refer to it
    Column("id", String, nullable=False, unique=True),
    Column("graph", String, nullable=False),
    Column("graph_version", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("configuration", Text, nullable=False),  # JSON, the active leaves
    Column("context", Text, nullable=False),  # JSON
    Column("version", BIG, nullable=False),
    Column("status", String, nullable=False),
    Column("memory", Text),  # JSON, the memory of the history states; NULL if empty
    Column("entered", Text),  # JSON, the states with timers or invokes and their epochs; NULL if none
    Column("deltas", BIG, nullable=False, server_default=text("0")),  # size of `history` since its last full copy
    Column("handoffs", Text),  # JSON, the agent's open handoffs; NULL if none
    Column("started_us", BigInteger),  # since 1970, UTC; NULL if started under an earlier schema without this column
    Column("changed_us", BigInteger),  # the time of the newest turn's event
    Column("transfers", Text),  # JSON, the counts of states with transfers; NULL if none
    Column("trail", Text),  # its recent steps, an entry per line; NULL if its graph has no signals
    Column("noticed", Text),  # JSON, the memory of its detectors; NULL if its graph has no signals
    Index("ix_agents_graph_status", "graph", "status"),
)

event.listen(agents, "after_create", ROOM)

graphs = Table(
    "graphs",
    metadata,
    Column("fingerprint", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("version", String, nullable=False),
    Column("paths", Text, nullable=False),  # JSON, each state's path
)

history = Table(
    "history",
    metadata,
    Column("key", BIG, primary_key=True),  # in the order committed, so that new rows are adjacent on disk
    Column("agent", ForeignKey("agents.key", ondelete="CASCADE"), nullable=False),
    Column("version", BIG, nullable=False),
    Column("event", String, nullable=False),
    Column("event_id", String),  # set by the sender; NULL if none
    Column("payload", Text),  # JSON; NULL if empty
    Column("sender", String),
    Column("time_us", BigInteger, nullable=False),  # of the event, since 1970, UTC
    Column("source", Text),  # JSON, the leaves before; NULL: the target of the version before, none before the first
    Column("target", Text, nullable=False),  # JSON, the leaves after
    Column("taken", Text),  # JSON, the transitions' labels; NULL: `source --event--> target`, see agent_rows
    Column("changed", Text),  # JSON, the context's fields that changed; NULL if none, and for the first version
    Column("appended", Text),  # JSON, new items of the context's lists that only grew; NULL if none
    Column("status", String),  # NULL: active
    Column("took_us", BIG, nullable=False),
    Column("guard_errors", Text),  # JSON; NULL if none
    Column("memory", Text),  # JSON; NULL if unchanged, or if empty in a full copy
    Column("entered", Text),  # JSON; NULL if unchanged, or if empty in a full copy
    Column("context", Text),  # JSON in a full copy, else NULL; likewise the next two
    Column("graph_version", String),
    Column("fingerprint", String),
    Column("handoffs", Text),  # JSON; NULL if unchanged, or if empty in a full copy
    Column("operator_reason", Text),  # an operator's reason for the event; NULL if no operator caused it
    Column("transfers", Text),  # JSON; NULL if unchanged, or if empty in a full copy
    Column("fired", Text),  # JSON, the signals that fired in the turn; NULL if none did
    UniqueConstraint("agent", "version"),
)

Index(
    "uq_history_agent_event_id",
    history.c.agent,
    history.c.event_id,
    unique=True,
    sqlite_where=history.c.event_id.is_not(None),
    postgresql_where=history.c.event_id.is_not(None),
)

searchable = Table(
    "searchable",  # searchable fields of contexts
    metadata,
    Column("graph", String, primary_key=True),
    Column("field", String, primary_key=True),  # a path with dots
    Column("filled", BIG),  # agents with keys up to this have their values; NULL: all agents
    sqlite_with_rowid=False,
)

found_values = Table(
    "found_values",  # values of searchable fields; agents without a value have no row
    metadata,
    Column("agent", ForeignKey("agents.key", ondelete="CASCADE"), primary_key=True),
    Column("field", String, primary_key=True),
    Column("value", String().with_variant(String(collation="C"), "postgresql"), nullable=False),  # see `sort_key`
    Index("ix_found_values_field", "field", "value", "agent"),
    sqlite_with_rowid=False,
)

mail = Table(
    "mail",
    metadata,
    Column("number", BIG, primary_key=True),  # reserved by the owner, in the order accepted
    Column("recipient", String, nullable=False),  # a public id: mail may wait for a future agent
    Column("event", String, nullable=False),
    Column("payload", Text),  # JSON; NULL if empty
    Column("accepted_us", BigInteger, nullable=False),  # since 1970, UTC, as all times
    Column("event_id", String),  # set by the sender; NULL if none
    Column("sender", String),
    Column("due_us", BigInteger),  # NULL: deliver at once
    Column("key", String),
    Column("state", String),
    Column("epoch", BIG, nullable=False),
    Column("status", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("retry_us", BigInteger),
    Column("reason", Text),  # NULL if none
    Column("operator_reason", Text),  # as in `history`
    sqlite_autoincrement=True,  # makes SQLite remember the highest number after its mail is deleted
)

WAITS = mail.c.status == literal_column(
    "'waiting'"
)  # a literal: with a parameter SQLite does not use the partial index
TIMED = and_(WAITS, mail.c.due_us.is_not(None))
NAMED = and_(WAITS, mail.c.event_id.is_not(None))

Index("ix_mail_recipient", mail.c.recipient)  # for an agent's queue, a turn's cancellations, and erasures
Index("ix_mail_due_us", mail.c.due_us, mail.c.number, sqlite_where=TIMED, postgresql_where=TIMED)
Index(
    "uq_mail_recipient_event_id",  # finds earlier mail with the same id
    mail.c.recipient,
    mail.c.event_id,
    unique=True,
    sqlite_where=NAMED,
    postgresql_where=NAMED,
)

invokes = Table(
    "invokes",
    metadata,
    Column("key", BIG, primary_key=True),  # in the order started
    Column("agent", ForeignKey("agents.key", ondelete="CASCADE"), nullable=False),
    Column("state", String, nullable=False),
    Column("epoch", BIG, nullable=False),
    Column("invoke", String, nullable=False),
    Column("context", Text, nullable=False),  # JSON, as the turn that entered the state committed it
    UniqueConstraint("agent", "state", "epoch", "invoke"),
)

steps = Table(
    "steps",
    metadata,
    Column("invocation", ForeignKey("invokes.key", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("result", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

journals = Table(
    "journals",  # entries of agents that outlive the invocations that wrote them
    metadata,
    Column("key", BIG, primary_key=True),  # in the order written
    Column("agent", ForeignKey("agents.key", ondelete="CASCADE"), nullable=False),
    Column("journal", String, nullable=False),
    Column("name", String, nullable=False),
    Column("entry", Text, nullable=False),  # JSON
    UniqueConstraint("agent", "journal", "name"),
)

handoffs = Table(
    "handoffs",
    metadata,
    Column("key", BIG, primary_key=True),  # in the order offered
    Column("id", String, nullable=False, unique=True),
    Column("request", String, nullable=False),  # the id of the first attempt
    Column("source", String, nullable=False),  # a public id like `target`, whose agent may never start
    Column("source_graph", String, nullable=False),
    Column("target", String, nullable=False),
    Column("target_graph", String, nullable=False),
    Column("entry_point", String, nullable=False),
    Column("is_new", Boolean, nullable=False),
    Column("mode", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("packet", Text, nullable=False),  # JSON
    Column("deadline_us", BigInteger),
    Column("status", String, nullable=False),
    Column("changes", Text, nullable=False),  # JSON, each with its time
    Column("result", Text),  # JSON; NULL if none
    Column("recipient", String),  # directory id of the chosen target, as in the packet; NULL if none was chosen
    Column("choice", Text),  # JSON, the explanation of the choice of its target; NULL without a choice
    Index("ix_handoffs_request", "request"),
    Index("ix_handoffs_source", "source"),
    Index("ix_handoffs_target", "target"),
)

_OPEN = ("'choosing'", "'pending'", "'accepted'")
IS_OPEN = handoffs.c.status.in_([literal_column(status) for status in _OPEN])

Index("ix_handoffs_status", handoffs.c.status, sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)

places = Table(
    "places",
    metadata,
    Column("handoff", String, primary_key=True),  # the id of an open handoff
    Column("graph", String, nullable=False),
    Index("ix_places_graph", "graph"),
)

breakers = Table(
    "breakers",  # circuit breakers that are not closed
    metadata,
    Column("name", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("since_us", BigInteger, nullable=False),
    Column("retry_us", BigInteger),  # NULL unless it is open
    Column("breaks", Integer, nullable=False),  # since it was last closed
    Column("reason", Text, nullable=False),
)

requests = Table(
    "requests",  # requests to the owner, added by any process
    metadata,
    Column("number", BIG, primary_key=True),  # in the order requested
    Column("id", String, nullable=False, unique=True),
    Column("asker", String, nullable=False),
    Column("call", Text, nullable=False),  # JSON
    Column("until_us", BigInteger, nullable=False),  # the request must be started before this
    Column("taken_us", BigInteger),  # NULL: can still be withdrawn
    Column("answered_us", BigInteger),
    Column("answer", Text),  # JSON
    sqlite_autoincrement=True,  # so that the number of a withdrawn request is not reused
)

hosts = Table(
    "hosts",  # with their latest signs of life; every host writes its own, owner or not
    metadata,
    Column("id", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("machine", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_us", BigInteger, nullable=False),
    Column("seen_us", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),  # JSON, its configuration and features
)

owner = Table(
    "owner",
    metadata,
    Column("id", SmallInteger, CheckConstraint("id = 1", name="single"), primary_key=True),
    Column("epoch", BIG, nullable=False),  # raised by every runtime that takes ownership
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("since_us", BigInteger, nullable=False),
    Column("moved_to", Text),  # the new home of the agents, so that no runtime may own them here; NULL: here
    Column("moved_us", BigInteger),
)
