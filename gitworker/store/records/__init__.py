"""Typed reads and writes of single tables: reviews, landings, tips and others."""
