"""The commands of the group `workstream`."""
