"""The transition log: its schema, its rules and the validator."""
