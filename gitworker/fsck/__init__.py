"""Findings: `doctor` runs the quick checks, `fsck` runs all of them and repairs."""
