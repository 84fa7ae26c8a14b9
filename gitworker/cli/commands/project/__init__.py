"""Commands of `git worker project`."""
