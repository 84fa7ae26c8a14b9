"""Commands of a person on one task, also while a worker has it."""
