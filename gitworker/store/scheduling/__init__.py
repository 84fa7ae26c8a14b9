"""The rows that decide which agent may start, and whose turn it is."""
