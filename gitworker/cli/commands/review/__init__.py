"""Commands of section "Review and land"."""
