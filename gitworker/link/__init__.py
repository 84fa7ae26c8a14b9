"""The link of a fleet's machine: the process that speaks with PostgreSQL for all others."""
