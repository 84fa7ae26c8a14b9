"""Agents under supervision: start, monitoring, orders, and the consequences of their end."""
