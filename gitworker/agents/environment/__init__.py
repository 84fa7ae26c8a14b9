"""The variables and settings of an agent that resets its own: identity, and the way to us."""
