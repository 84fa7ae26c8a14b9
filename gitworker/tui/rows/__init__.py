"""Rows of text, made from views of the service."""
