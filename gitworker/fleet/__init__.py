"""A fleet: several machines with one queue, on PostgreSQL and a git remote."""
