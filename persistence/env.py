"""Runs migrations on the connection that `gatechart.stores.sql.schema` hands over."""

from alembic import context

from gatechart.stores.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction holds all of it
)
context.run_migrations()
