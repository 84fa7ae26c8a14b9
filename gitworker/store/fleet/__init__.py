"""The store of one machine of a fleet: a replica in bus.db, written by way of the link."""
