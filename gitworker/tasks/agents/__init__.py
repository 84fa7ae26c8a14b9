"""Registered agents: adding and removing them, their views, and the tasks that they may take."""
