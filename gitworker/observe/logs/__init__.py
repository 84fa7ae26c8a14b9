"""The log of events and of agents, once or followed."""
