"""Reviews as stored: rounds, comments, and the marks of a reviewer."""
