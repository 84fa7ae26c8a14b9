"""The hooks of coding agents: answers to their events, and the settings that attach them."""
