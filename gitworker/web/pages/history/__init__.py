"""The page about a span of time: a timeline and the use of tokens."""
