"""Questions of workers: asking, waiting, answering, and their end by time.

A question, its message and the status of its task change in one transaction.
"""
