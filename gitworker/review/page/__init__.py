"""The page of a review: one read of everything that a reviewer needs, and its text."""
