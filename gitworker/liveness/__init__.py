"""Who is alive: processes, beats, and what follows from their age."""
