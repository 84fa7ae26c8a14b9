"""Commands of section "Work"."""
