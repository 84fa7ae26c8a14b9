"""Following the bus: waiting for new messages and reading them as they arrive."""
