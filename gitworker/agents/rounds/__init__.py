"""The round trip without a person: an agent is resumed if its work comes back."""
