"""Why the targets of handoffs were chosen, and handoffs whose target is yet to be chosen among the open ones."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_IS_OPEN = sa.text("status IN ('choosing', 'pending', 'accepted')")


def upgrade() -> None:
    """Add the columns, and make the index of open handoffs anew."""
    op.add_column("handoffs", sa.Column("recipient", sa.String))
    op.add_column("handoffs", sa.Column("choice", sa.Text))
    op.drop_index("ix_handoffs_status", table_name="handoffs")
    op.create_index("ix_handoffs_status", "handoffs", ["status"], sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN)
