"""Background jobs that the bus starts: radar and upkeep."""
