"""Populate a new worktree: submodules, links, copies, setup commands."""
