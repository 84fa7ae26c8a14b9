"""Tests of the rules of single pages."""
