"""The shells: completion, and the functions with which `switch` changes the directory."""
