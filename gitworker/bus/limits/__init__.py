"""Limits on sending: settings, back-pressure and the rate of an agent."""
