"""The house rules as tests: each reports its findings and the way to fix them."""
