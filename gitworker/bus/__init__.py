"""The bus: messages, transitions as messages, exports to log files."""
