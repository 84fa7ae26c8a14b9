"""The command line: the lazy group, one file per command, the only module that prints."""
