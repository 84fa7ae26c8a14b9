"""Tests of the rules of the pages about the work of one worker."""
