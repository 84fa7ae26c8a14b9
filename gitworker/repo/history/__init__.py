"""History: which commits a branch has, where it forked, what it changed."""
