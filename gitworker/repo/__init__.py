"""git: names, worktrees, replay, moving refs, rescue, hooks. git's own plumbing does the work."""
