"""The benchmarks measure what they say, and refuse to pass on nothing."""
