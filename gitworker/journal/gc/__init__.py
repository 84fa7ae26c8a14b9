"""gc: deleting old rescue refs, removed worktrees and logs that nothing needs."""
