"""Views for people in other programs' windows: tmux."""
