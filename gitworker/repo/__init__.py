"""Work with git through its plumbing: refs, worktrees, replay, remotes, rescue refs, hooks."""
