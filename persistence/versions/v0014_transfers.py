"""Counts of the transfers that agents chose."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; no agent had transfers before."""
    op.add_column("agents", sa.Column("transfers", sa.Text))
    op.add_column("history", sa.Column("transfers", sa.Text))
