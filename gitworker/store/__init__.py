"""The store: named queries behind a narrow protocol, and rows as named tuples."""
