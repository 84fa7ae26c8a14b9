"""Liveness of workers: processes, heartbeats, and the meaning of a heartbeat's age."""
