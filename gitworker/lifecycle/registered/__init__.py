"""The states of registered agents follow those of their workers."""
