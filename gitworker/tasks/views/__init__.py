"""Views of the queue: one task, the reason why it does not run, the graph of dependencies."""
