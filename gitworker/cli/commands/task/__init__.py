"""Commands of `git worker task`."""
