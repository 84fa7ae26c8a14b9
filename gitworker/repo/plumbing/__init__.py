"""Plumbing: processes of git, their environment, locks, objects, refs and files."""
