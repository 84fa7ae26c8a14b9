"""The tokens of a running agent: recorded as it reports them, and compared with its budget."""
