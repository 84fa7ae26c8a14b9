"""Tests of the rows."""
