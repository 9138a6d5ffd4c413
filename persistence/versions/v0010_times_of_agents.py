"""When each agent was started, and when it changed last."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

FIRST_TURN = """
UPDATE agents SET started_us = (SELECT time_us FROM history WHERE agent = agents.key AND history.version = 1)
"""

NEWEST_TURN = """
UPDATE agents
SET changed_us = (SELECT time_us FROM history WHERE agent = agents.key AND history.version = agents.version)
"""


def upgrade() -> None:
    """Add the columns. The start of an agent whose first turn was pruned stays unknown."""
    op.add_column("agents", sa.Column("started_us", sa.BigInteger))
    op.add_column("agents", sa.Column("changed_us", sa.BigInteger))
    op.execute(FIRST_TURN)
    op.execute(NEWEST_TURN)
