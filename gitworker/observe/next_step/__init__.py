"""The next step of a worker: what is unusual about it, and the command that continues it."""
