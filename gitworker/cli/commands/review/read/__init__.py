"""Commands of a review that only read, and its marks."""
