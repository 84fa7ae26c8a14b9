"""Commands of section "Set up"."""
