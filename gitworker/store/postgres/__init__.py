"""The store on PostgreSQL: the same queries, tables and guards as on SQLite, in its dialect."""
