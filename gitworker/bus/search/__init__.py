"""Searching messages and finding a single one."""
