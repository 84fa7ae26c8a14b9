"""The benchmarks measure what they promise, and fail without a measurement."""
