"""Commands of `git worker agents`."""
