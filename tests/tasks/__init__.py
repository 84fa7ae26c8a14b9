"""Tests of the queue of tasks, on a real repository."""
