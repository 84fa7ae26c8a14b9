"""Commands of `git worker hooks`."""
