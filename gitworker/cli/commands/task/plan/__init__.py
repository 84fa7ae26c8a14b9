"""Commands of `git worker task` that plan."""
