"""Commands of `git worker agent`."""
