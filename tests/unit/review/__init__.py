"""Tests of the pure rules of reviews."""
