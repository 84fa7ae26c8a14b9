"""Views that are updated until they end."""
