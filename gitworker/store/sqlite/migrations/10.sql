-- Schema 10: the windows of several machines of a fleet at a time.

-- The machine that verifies a window; NULL in a repository of its own.
ALTER TABLE windows ADD COLUMN machine TEXT;
-- What other machines need to verify prefixes of it: JSON with `ref`, the ref on the remote that has
-- its commits, and `key`, the inputs of the run on its last commit. NULL: it is not offered.
ALTER TABLE windows ADD COLUMN offer TEXT;
-- for: windows.offered
CREATE INDEX idx_windows_offered ON windows(id) WHERE offer IS NOT NULL;
