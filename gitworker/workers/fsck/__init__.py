"""The proof that nothing is lost and that git, database, files and journals agree; and the mending.

Looking takes no lock and few processes. Mending runs under the locks of landings and worktrees and
does only what loses nothing; every mend can be repeated.
"""
