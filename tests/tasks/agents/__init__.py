"""Tests of registered agents."""
