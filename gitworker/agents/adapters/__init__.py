"""Adapters: how each known agent is started, given its prompt, resumed and read."""
