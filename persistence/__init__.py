"""The history of the database: an Alembic environment, installed as `gatechart.migrations`."""
