-- name: latest_of_key — the newest verdict on a tree with these commands, of runs by given actors
SELECT key, tree_oid, commit_oid, verdict, flaky, reason, log, duration_ms, ts_ms
FROM verify_runs WHERE key = :key AND actor IN (SELECT value FROM json_each(:actors))
ORDER BY id DESC LIMIT 1;

-- name: latest_of_commit — the newest run on a commit
SELECT key, tree_oid, commit_oid, verdict, flaky, reason, log, duration_ms, ts_ms
FROM verify_runs WHERE commit_oid = :commit_oid ORDER BY id DESC LIMIT 1;

-- name: of_commits — the newest run of the verify commands on each of these commits
SELECT commit_oid, verdict, reason, log, ts_ms FROM verify_runs
WHERE id IN (
    SELECT MAX(r.id) FROM json_each(:commits) AS c JOIN verify_runs AS r ON r.commit_oid = c.value
    GROUP BY c.value
);

-- name: record — a run that has ended
INSERT INTO verify_runs (key, tree_oid, commit_oid, verdict, flaky, reason, log, duration_ms, actor,
    ts_ms)
VALUES (:key, :tree_oid, :commit_oid, :verdict, :flaky, :reason, :log, :duration_ms, :actor, :now);

-- name: trusted — whether a person has trusted these commands
SELECT hash FROM trusted_commands WHERE hash = :hash;

-- name: all_trusted — the trusted commands, newest first
SELECT hash, kind, commands, trusted_by, ts_ms FROM trusted_commands ORDER BY ts_ms DESC, hash;

-- name: trust — trust commands
INSERT INTO trusted_commands (hash, kind, commands, trusted_by, ts_ms)
VALUES (:hash, :kind, :commands, :by, :now) ON CONFLICT (hash) DO NOTHING;

-- name: revoke — revoke the trust in commands
DELETE FROM trusted_commands WHERE hash = :hash;

-- name: failure_of_worker — the newest failed verification for which a worker's work was sent back
SELECT 'failed' AS verdict, json_extract(metadata, '$.commit') AS commit_oid,
    COALESCE(json_extract(metadata, '$.reason'), '') AS reason, json_extract(metadata, '$.log') AS log, ts_ms
FROM transitions
WHERE machine = 'worker' AND entity_id = :worker AND ts_ms >= :since
    AND json_type(metadata, '$.log') = 'text' AND json_type(metadata, '$.commit') = 'text'
ORDER BY version DESC LIMIT 1;
