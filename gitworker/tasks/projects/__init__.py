"""Projects: their weights, limits and budgets, and their views."""
