"""Verify: the configured commands, run on exactly one commit."""
