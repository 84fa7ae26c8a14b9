"""Tests of the rules of the page."""
