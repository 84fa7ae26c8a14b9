"""The processes of an agent, and its streams, terminal and log."""
