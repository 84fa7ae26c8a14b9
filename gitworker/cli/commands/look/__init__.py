"""Commands of section "Look"."""
