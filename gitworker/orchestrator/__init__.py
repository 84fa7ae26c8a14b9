"""`git worker run`: hand tasks to agents, land their work, take it up again if it comes back.

One loop reads the database, lets pure rules decide, and acts by the use cases that a person has.
It keeps no state of its own, so that it can be killed, started again, and run twice at once.
"""
