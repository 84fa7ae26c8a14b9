"""Rescue: commits and files that must survive the removal of a worktree."""
