"""Tests of reviews: rounds, comments, marks, the page."""
