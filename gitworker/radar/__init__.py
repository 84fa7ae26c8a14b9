"""The radar: which branches conflict, and warnings about new conflicts."""
