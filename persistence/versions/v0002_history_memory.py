"""What the history states of an agent remember."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column; agents of charts without history states have nothing in it."""
    op.add_column("agents", sa.Column("memory", sa.Text))
