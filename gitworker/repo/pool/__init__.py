"""Parked worktrees: their entries in the pool, and the dirty check of a spawn."""
