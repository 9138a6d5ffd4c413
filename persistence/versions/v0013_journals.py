"""Journals of agents: entries that outlive the invocations that wrote them."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; existing agents have no journals."""
    op.create_table(
        "journals",
        sa.Column("key", BIG, nullable=False),
        sa.Column("agent", BIG, nullable=False),
        sa.Column("journal", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("entry", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name="fk_journals_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name="pk_journals"),
        sa.UniqueConstraint("agent", "journal", "name", name="uq_journals_agent_journal_name"),
    )
