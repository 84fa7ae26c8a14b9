"""Moving a branch together with the files of its checkout, and repairing a partial move."""
