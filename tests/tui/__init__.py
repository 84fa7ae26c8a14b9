"""Tests of the control room in the terminal."""
