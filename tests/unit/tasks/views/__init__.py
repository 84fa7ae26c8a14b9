"""Tests of the rules of views of the queue."""
