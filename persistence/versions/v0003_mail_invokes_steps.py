"""Mail, and what states have under way outside turns."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the tables; existing agents have no mail and no invokes."""
    op.add_column("agents", sa.Column("entered", sa.Text))
    _create_mail()
    op.create_table(
        "invokes",
        sa.Column("key", BIG, nullable=False),
        sa.Column("agent", BIG, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("invoke", sa.String, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name="fk_invokes_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name="pk_invokes"),
        sa.UniqueConstraint("agent", "state", "epoch", "invoke", name="uq_invokes_agent_state_epoch_invoke"),
    )
    op.create_table(
        "steps",
        sa.Column("invocation", BIG, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["invocation"], ["invokes.key"], name="fk_steps_invocation", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("invocation", "name", name="pk_steps"),
        sqlite_with_rowid=False,
    )


def _create_mail() -> None:
    op.create_table(
        "mail",
        sa.Column("number", BIG, nullable=False),
        sa.Column("recipient", sa.String, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("accepted_us", sa.BigInteger, nullable=False),
        sa.Column("event_id", sa.String),
        sa.Column("sender", sa.String),
        sa.Column("due_us", sa.BigInteger),
        sa.Column("key", sa.String),
        sa.Column("state", sa.String),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("retry_us", sa.BigInteger),
        sa.Column("reason", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_mail"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_mail_recipient", "mail", ["recipient"])
    timed = sa.text("status = 'waiting' AND due_us IS NOT NULL")
    op.create_index("ix_mail_due_us", "mail", ["due_us", "number"], sqlite_where=timed, postgresql_where=timed)
    named = sa.text("status = 'waiting' AND event_id IS NOT NULL")
    op.create_index(
        "uq_mail_recipient_event_id",
        "mail",
        ["recipient", "event_id"],
        unique=True,
        sqlite_where=named,
        postgresql_where=named,
    )
