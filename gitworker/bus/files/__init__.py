"""Log files of the bus, archives and retention."""
