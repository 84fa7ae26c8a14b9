-- name: of_branch — the commits that we have put, or may have put, on a remote's branch
SELECT oid, pending FROM published_branches WHERE remote = :remote AND branch = :branch;

-- name: begin — a push whose result may stay unknown
INSERT INTO published_branches (remote, branch, pending, ts_ms)
VALUES (:remote, :branch, :oid, :now)
ON CONFLICT (remote, branch) DO UPDATE
    SET pending = TRIM(published_branches.pending || ' ' || excluded.pending), ts_ms = excluded.ts_ms;

-- name: end — a push that the remote accepted
UPDATE published_branches SET oid = :oid, pending = '', ts_ms = :now
WHERE remote = :remote AND branch = :branch;
