"""The changes that a page can ask for."""
