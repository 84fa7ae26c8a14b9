"""Jobs beside a run: their output is read while it does other work."""
