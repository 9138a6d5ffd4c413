"""Why an operator made an event happen."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("history", sa.Column("operator_reason", sa.Text))
    op.add_column("mail", sa.Column("operator_reason", sa.Text))
