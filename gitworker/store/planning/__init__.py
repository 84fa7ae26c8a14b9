"""Workstreams and automations, as stored."""
