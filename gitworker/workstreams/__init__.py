"""Workstreams: groups of tasks that end together, their final validation, and their archive."""
