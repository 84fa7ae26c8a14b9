"""Commands of `git worker claim`."""
