"""The event log and the logs of agents, read once or followed."""
