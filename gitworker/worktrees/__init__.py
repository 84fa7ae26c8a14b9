"""Worktrees of workers: where they are, how they are made, how they are removed."""
