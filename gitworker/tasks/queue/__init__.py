"""The queue: tasks with dependencies and priorities, and the ones that may start."""
