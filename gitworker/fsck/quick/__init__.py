"""The checks of `doctor`: one file for each place."""
