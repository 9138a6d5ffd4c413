"""What others ask of the owner of a database."""

import sqlalchemy as sa
from alembic import op

from gatechart.stores.sql.tables import BIG

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "requests",
        sa.Column("number", BIG, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("asker", sa.String, nullable=False),
        sa.Column("call", sa.Text, nullable=False),
        sa.Column("until_us", sa.BigInteger, nullable=False),
        sa.Column("taken_us", sa.BigInteger),
        sa.Column("answered_us", sa.BigInteger),
        sa.Column("answer", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_requests"),
        sa.UniqueConstraint("id", name="uq_requests_id"),
        sqlite_autoincrement=True,
    )
