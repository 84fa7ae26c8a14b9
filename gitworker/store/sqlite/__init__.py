"""The SQLite backend: connection, gate, schema, migrations, and the queries by name."""
