"""The journal: operations that span git and the database are finished or rolled back."""
