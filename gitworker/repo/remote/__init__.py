"""Remotes: fetch and push, with progress, credentials and a time limit."""
