"""Tests of the rules of plans."""
