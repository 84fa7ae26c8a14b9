"""The data of operations, as the journal stores it."""
