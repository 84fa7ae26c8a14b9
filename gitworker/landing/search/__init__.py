"""The verification of a window, and the search for the worker that makes it fail."""
