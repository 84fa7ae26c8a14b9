"""Whose turn it is: the READY tasks that may start, by project, limits and paths."""
