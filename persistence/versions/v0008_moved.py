"""Where the agents of a database have moved to."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("owner", sa.Column("moved_to", sa.Text))
    op.add_column("owner", sa.Column("moved_us", sa.BigInteger))
