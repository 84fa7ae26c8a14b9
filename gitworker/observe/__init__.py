"""Observing: one read, frozen data, text or JSON. Nothing here changes anything.

Each verb has `read_<verb>`, `render_<verb>` and `json_<verb>`. A width of None means that nobody's
screen is meant: nothing is cut then.
"""
