"""The bus for agents written in Python."""
