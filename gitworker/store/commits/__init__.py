"""Facts about commits as stored: results of merges and of the verify commands."""
