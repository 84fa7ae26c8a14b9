"""Worktrees of workers: their root directory, creation, population and removal."""
