"""Commands that write comments."""
