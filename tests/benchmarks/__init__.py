"""The benchmarks measure their promises, and fail without a measurement."""
