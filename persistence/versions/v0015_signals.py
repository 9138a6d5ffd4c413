"""Trails of agents, and the signals that fired in their turns."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; no graph had signals before."""
    op.add_column("agents", sa.Column("trail", sa.Text))
    op.add_column("agents", sa.Column("noticed", sa.Text))
    op.add_column("history", sa.Column("fired", sa.Text))
