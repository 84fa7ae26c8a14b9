"""Commands that settle comments."""
