"""A worker's state and its task's state, changed together, and the files that show them."""
