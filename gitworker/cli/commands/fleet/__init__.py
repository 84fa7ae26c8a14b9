"""Commands of `git worker fleet`."""
