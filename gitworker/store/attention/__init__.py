"""Rows that need a person: the questions of workers, and the notifications about events."""
