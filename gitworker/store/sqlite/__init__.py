"""The SQLite backend: connection, write gate, schema, migrations and named queries."""
