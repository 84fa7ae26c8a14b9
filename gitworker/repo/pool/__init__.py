"""Parked worktrees as git sees them."""
