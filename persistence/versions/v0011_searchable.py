"""Fields of contexts by which agents are found, and their values."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables; they are filled once a graph declares such fields."""
    op.create_table(
        "searchable",
        sa.Column("graph", sa.String, nullable=False),
        sa.Column("field", sa.String, nullable=False),
        sa.Column("filled", BIG),
        sa.PrimaryKeyConstraint("graph", "field", name="pk_searchable"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "found_values",
        sa.Column("agent", BIG, nullable=False),
        sa.Column("field", sa.String, nullable=False),
        sa.Column("value", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agents.key"], name="fk_found_values_agent", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("agent", "field", name="pk_found_values"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_found_values_field", "found_values", ["field", "value", "agent"])
