"""Runs the migrations on the connection that ``fanfold.store.upgrade.migrate`` passes in."""

from alembic import context

from fanfold.store.schema.money.limit_tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False)
context.run_migrations()
