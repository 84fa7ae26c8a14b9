"""Repositories of every kind: the main job by whole programs, on all settings of git."""
