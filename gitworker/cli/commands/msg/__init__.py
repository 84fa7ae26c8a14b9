"""Commands of `git worker msg`."""
