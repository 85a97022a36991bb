"""What Alembic runs for a command: the migrations, in the transaction that is open already."""

from alembic import context

from orchestrator.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    # SQLite can roll back changes of the schema; Alembic does not count on it by default.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
