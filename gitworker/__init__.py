"""gitworker: many coding agents on one repository, by worktrees, hooks and fast-forwards."""

__version__ = "0.1.0"
