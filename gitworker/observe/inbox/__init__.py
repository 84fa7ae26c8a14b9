"""The inbox: the things that need one reader, each with its command."""
