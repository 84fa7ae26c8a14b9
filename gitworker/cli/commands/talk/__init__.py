"""Commands of section "Talk"."""
