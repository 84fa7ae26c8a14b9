"""One file per command: its options, one call of a use case, its answer."""
