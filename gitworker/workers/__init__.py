"""What can be done with a worker: one use case per file."""
