"""Handoffs, the places that they hold, and what agents remember of theirs."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

IS_OPEN = sa.text("status IN ('pending', 'accepted')")


def upgrade() -> None:
    """Add the tables, and the columns, which are NULL for agents that have no handoff."""
    op.add_column("agents", sa.Column("handoffs", sa.Text))
    op.add_column("history", sa.Column("handoffs", sa.Text))
    op.create_table(
        "handoffs",
        sa.Column("key", BIG, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("request", sa.String, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("source_graph", sa.String, nullable=False),
        sa.Column("target", sa.String, nullable=False),
        sa.Column("target_graph", sa.String, nullable=False),
        sa.Column("entry_point", sa.String, nullable=False),
        sa.Column("is_new", sa.Boolean, nullable=False),
        sa.Column("mode", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("packet", sa.Text, nullable=False),
        sa.Column("deadline_us", sa.BigInteger),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("changes", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
        sa.PrimaryKeyConstraint("key", name="pk_handoffs"),
        sa.UniqueConstraint("id", name="uq_handoffs_id"),
    )
    for column in ("request", "source", "target"):
        op.create_index(f"ix_handoffs_{column}", "handoffs", [column])
    op.create_index("ix_handoffs_status", "handoffs", ["status"], sqlite_where=IS_OPEN, postgresql_where=IS_OPEN)
    op.create_table(
        "places",
        sa.Column("handoff", sa.String, nullable=False),
        sa.Column("graph", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("handoff", name="pk_places"),
    )
    op.create_index("ix_places_graph", "places", ["graph"])
