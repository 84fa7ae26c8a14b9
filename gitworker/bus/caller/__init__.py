"""The identity of a caller, and the directories that have none any more."""
