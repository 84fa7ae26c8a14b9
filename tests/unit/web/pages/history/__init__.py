"""Tests of the picture of a timeline."""
