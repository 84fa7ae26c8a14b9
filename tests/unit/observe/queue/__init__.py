"""Tests of the queue on the screen status."""
