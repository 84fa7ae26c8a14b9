"""Automations: commands, tasks and agents of the user that start by time or by events.

They are rows of the user's own database, never of a file of the repository, because they run
commands. Texts of events reach commands as variables, never as a part of a shell's words.
"""
