"""Comments of a review: drafts, their delivery, their end, and the lines that they follow."""
