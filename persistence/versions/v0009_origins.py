"""Who spoke: the origin of an event, and the reason that an operator gave."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. They stay empty in rows written before, whose origin follows from sender and name."""
    op.add_column("history", sa.Column("origin", sa.String))
    op.add_column("history", sa.Column("note", sa.Text))
    op.add_column("mail", sa.Column("origin", sa.String))
    op.add_column("mail", sa.Column("note", sa.Text))
