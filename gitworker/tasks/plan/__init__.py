"""Plans: files that describe many tasks, and their import."""
