"""Workers: status, list, show, diff and path."""
