"""Tests of the rules of commands on a task."""
