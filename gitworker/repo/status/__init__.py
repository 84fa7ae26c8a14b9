"""The state of a checkout: uncommitted, hidden, special and converted files."""
