"""Commands of `git worker task` that look."""
