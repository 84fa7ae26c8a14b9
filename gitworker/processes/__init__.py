"""Other processes: the table of those that run, and the start of background jobs."""
