"""The checks of `fsck`: one file for each place."""
