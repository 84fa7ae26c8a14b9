"""Whether the disk has space for another worktree."""
