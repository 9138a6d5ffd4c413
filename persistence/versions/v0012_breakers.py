"""Circuit breakers that are not closed."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; no breaker has opened yet."""
    op.create_table(
        "breakers",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("since_us", sa.BigInteger, nullable=False),
        sa.Column("retry_us", sa.BigInteger),
        sa.Column("breaks", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_breakers"),
    )
