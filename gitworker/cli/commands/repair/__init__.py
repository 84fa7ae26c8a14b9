"""Commands of section "Clean up and repair"."""
