"""doctor's checks, one file per place it looks at; each check returns its findings."""
