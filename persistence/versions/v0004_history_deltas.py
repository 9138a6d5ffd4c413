"""History in the order committed: what changed in each turn, and now and then a full copy."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COPY = """
INSERT INTO history (agent, version, event, event_id, payload, sender, time_us, source, target, taken, changed,
    status, took_us, guard_errors)
SELECT agent, version, event, event_id, payload, sender, time_us, source, target, coalesce(taken, '[]'), changed,
    nullif(status, 'active'), took_us, guard_errors
FROM old_history ORDER BY time_us, agent, version
"""

NEWEST_IS_WHOLE = """
UPDATE history
SET (context, graph_version, fingerprint, memory, entered) =
    (SELECT context, graph_version, fingerprint, memory, entered FROM agents WHERE agents.key = history.agent)
WHERE (agent, version) IN (SELECT key, version FROM agents)
"""


def upgrade() -> None:
    """Add the columns of deltas. Older turns stay as they are; only the newest context of each can be rebuilt."""
    op.add_column("agents", sa.Column("deltas", BIG, nullable=False, server_default=sa.text("0")))
    op.drop_index("uq_history_agent_event_id", "history")
    op.rename_table("history", "old_history")
    if op.get_bind().dialect.name == "postgresql":  # where an index has a name of its own among all
        op.execute("ALTER INDEX pk_history RENAME TO pk_old_history")
    op.create_table(
        "history",
        sa.Column("key", BIG, nullable=False),
        sa.Column("agent", BIG, nullable=False),
        sa.Column("version", BIG, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("event_id", sa.String),
        sa.Column("payload", sa.Text),
        sa.Column("sender", sa.String),
        sa.Column("time_us", sa.BigInteger, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("taken", sa.Text),
        sa.Column("changed", sa.Text),
        sa.Column("appended", sa.Text),
        sa.Column("status", sa.String),
        sa.Column("took_us", BIG, nullable=False),
        sa.Column("guard_errors", sa.Text),
        sa.Column("memory", sa.Text),
        sa.Column("entered", sa.Text),
        sa.Column("context", sa.Text),
        sa.Column("graph_version", sa.String),
        sa.Column("fingerprint", sa.String),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name="fk_history_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name="pk_history"),
        sa.UniqueConstraint("agent", "version", name="uq_history_agent_version"),
    )
    op.execute(COPY)
    op.drop_table("old_history")
    op.create_index(
        "uq_history_agent_event_id",
        "history",
        ["agent", "event_id"],
        unique=True,
        sqlite_where=sa.text("event_id IS NOT NULL"),
        postgresql_where=sa.text("event_id IS NOT NULL"),
    )
    op.execute(NEWEST_IS_WHOLE)
