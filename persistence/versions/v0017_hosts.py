"""Hosts with their signs of life."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; hosts add themselves."""
    op.create_table(
        "hosts",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("machine", sa.String, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started_us", sa.BigInteger, nullable=False),
        sa.Column("seen_us", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hosts"),
    )
