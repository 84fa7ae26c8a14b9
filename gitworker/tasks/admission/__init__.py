"""The admission of agents: the one place where a start is allowed or refused."""
