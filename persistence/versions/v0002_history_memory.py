"""What the history states of an agent remember."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; it is empty for charts without history states."""
    op.add_column("agents", sa.Column("memory", sa.Text))
