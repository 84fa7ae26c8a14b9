"""Tests of the use cases of projects."""
