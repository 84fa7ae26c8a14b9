"""The use cases of one worker, one per file."""
