"""Undo: taking an operation back."""
