"""Repositories of every kind: the main job as whole programs, on what git can be made of."""
