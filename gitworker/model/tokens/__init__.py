"""Tokens: budgets that are used up, and prices."""
