"""Runs migrations on the connection that `gatechart.stores.upgrade` hands over."""

from alembic import context

from gatechart.stores.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction holds all of it
)
context.run_migrations()
