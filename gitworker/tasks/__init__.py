"""Tasks: their ids, their texts."""
