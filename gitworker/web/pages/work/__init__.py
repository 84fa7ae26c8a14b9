"""The pages about the work of one worker: its diff and the output of its verification."""
