"""The settings as a user sees them: every value with its origin, and changes of them."""
