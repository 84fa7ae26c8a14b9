"""Worktrees: the list, the proof of ownership, the main worktree, excludes."""
