"""The graphs that hosted agents, so that a state can be told in full when its graph is gone."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; it is filled as graphs are registered."""
    op.create_table(
        "graphs",
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("paths", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_graphs"),
    )
