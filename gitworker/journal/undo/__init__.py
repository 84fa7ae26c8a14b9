"""Undo completed operations."""
