"""The views: each reads once, builds frozen data, and renders it as text or JSON. Read-only.

Each view has `read_<view>`, `render_<view>` and `json_<view>`. A width of None means that the
output is not for a terminal; nothing is shortened then.
"""
