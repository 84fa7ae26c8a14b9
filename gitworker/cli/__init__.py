"""What the user types: the lazy group, one file per command, the one printing door."""
