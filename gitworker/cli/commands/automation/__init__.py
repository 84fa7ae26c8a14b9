"""Commands of `git worker automation`."""
