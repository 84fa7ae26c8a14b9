"""Tests of the rules of the queue."""
