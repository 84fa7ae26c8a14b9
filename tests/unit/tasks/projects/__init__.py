"""Tests of the rules of projects."""
