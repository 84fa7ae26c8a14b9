"""Agents under supervision: started in their seat, watched, stopped, and what they leave told."""
