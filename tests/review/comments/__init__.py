"""Tests of review comments."""
