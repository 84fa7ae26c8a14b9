"""The documentation that is generated from the code, and the generator."""
