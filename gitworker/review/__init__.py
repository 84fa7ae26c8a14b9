"""Review as data: rounds, comments that follow the code, viewed marks, and the page of a review."""
