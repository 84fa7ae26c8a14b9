"""Commands of section "Hand out tasks"."""
