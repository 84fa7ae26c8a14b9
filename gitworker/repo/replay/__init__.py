"""Replay: the result of `git rebase`, computed without a worktree."""
