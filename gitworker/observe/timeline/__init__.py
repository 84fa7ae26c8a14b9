"""The timeline: runs, reviews and landings of a span of time, and the tokens used in it."""
