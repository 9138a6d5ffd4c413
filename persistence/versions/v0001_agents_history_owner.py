"""Agents, their history, and the owner of the database."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG, ROOM

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "agents",
        sa.Column("key", BIG, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("graph", sa.String, nullable=False),
        sa.Column("graph_version", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.Column("version", BIG, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_agents"),
        sa.UniqueConstraint("id", name="uq_agents_id"),
    )
    if op.get_context().dialect.name == "postgresql":
        op.execute(ROOM)
    op.create_index("ix_agents_graph_status", "agents", ["graph", "status"])
    op.create_table(
        "history",
        sa.Column("agent", BIG, nullable=False),
        sa.Column("version", BIG, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("event_id", sa.String),
        sa.Column("payload", sa.Text),
        sa.Column("sender", sa.String),
        sa.Column("time_us", sa.BigInteger, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("taken", sa.Text),
        sa.Column("changed", sa.Text),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("took_us", BIG, nullable=False),
        sa.Column("guard_errors", sa.Text),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name="fk_history_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent", "version", name="pk_history"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "uq_history_agent_event_id",
        "history",
        ["agent", "event_id"],
        unique=True,
        sqlite_where=sa.text("event_id IS NOT NULL"),
        postgresql_where=sa.text("event_id IS NOT NULL"),
    )
    op.create_table(
        "owner",
        sa.Column("id", sa.SmallInteger, nullable=False),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("since_us", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_owner_single")),
        sa.PrimaryKeyConstraint("id", name="pk_owner"),
    )
