"""History: the commits of a branch, its fork point, its changes."""
