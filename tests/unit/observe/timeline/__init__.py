"""Tests of the rules of the timeline."""
