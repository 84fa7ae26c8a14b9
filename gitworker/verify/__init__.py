"""Verification: run the configured commands on exactly one commit."""
