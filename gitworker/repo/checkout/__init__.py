"""Move a branch together with the files of its checkout, and repair a partial move."""
