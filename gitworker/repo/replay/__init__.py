"""Replay: what `git rebase` gives, computed without a worktree."""
