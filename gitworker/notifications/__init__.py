"""Notifications of a person, by Apprise: open questions, failures, reviews and used budgets.

An event is a state that needs a person and that its notification does not name yet. Every command
that changes such a state starts the job, which sends each event once. A failure to send changes
nothing else.
"""
