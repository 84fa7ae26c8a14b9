"""Commands of `git worker task` that change one task."""
