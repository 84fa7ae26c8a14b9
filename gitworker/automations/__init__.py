"""Automations: commands, tasks and agents of the user that start by time or by events.

They are rows of the user's own database, never read from a file of the repository, because they run
commands. Text from events reaches commands in variables, never as part of a shell command.
"""
