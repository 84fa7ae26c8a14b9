"""Tests of the control room's pure parts."""
