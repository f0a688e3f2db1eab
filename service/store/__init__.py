"""All access to PostgreSQL: event store, repositories, migrations."""
