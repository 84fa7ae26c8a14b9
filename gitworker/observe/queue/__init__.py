"""The queue on the screen `status`: registered agents, budgets, the tasks that start next."""
