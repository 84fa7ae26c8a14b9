-- name: forks — the fork points of tips and a target
SELECT tip_oid, base_oid FROM tip_forks WHERE target_oid = :target;

-- name: add_forks — the fork points of tips and a target: [[tip, base], …]
INSERT INTO tip_forks (target_oid, tip_oid, base_oid)
SELECT :target, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
WHERE TRUE ON CONFLICT (target_oid, tip_oid) DO UPDATE SET base_oid = excluded.base_oid;

-- name: changes — the changes of tips
SELECT base_oid, tip_oid, changes FROM tip_changes
WHERE base_oid IN (SELECT value FROM json_each(:bases));

-- name: add_changes — the differences between commits: [[base, tip, changes], …]
INSERT INTO tip_changes (base_oid, tip_oid, changes)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each(:rows)
WHERE TRUE ON CONFLICT (base_oid, tip_oid) DO UPDATE SET changes = excluded.changes;

-- name: verdicts — the results of merging these commits with any other
SELECT one_oid, other_oid, files FROM merge_verdicts
WHERE one_oid IN (SELECT value FROM json_each(:tips));

-- name: add_verdicts — the results of merging commits: [[one, other, files], …]
INSERT INTO merge_verdicts (one_oid, other_oid, files, ts_ms)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), :now
FROM json_each(:rows)
WHERE TRUE ON CONFLICT (one_oid, other_oid) DO UPDATE SET files = excluded.files, ts_ms = excluded.ts_ms;

-- name: replays — the results of rebasing tips onto a target
SELECT tip_oid, files FROM replay_verdicts WHERE target_oid = :target;

-- name: add_replays — the results of rebasing tips onto a target: [[tip, files], …]
INSERT INTO replay_verdicts (target_oid, tip_oid, files)
SELECT :target, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows)
WHERE TRUE ON CONFLICT (target_oid, tip_oid) DO UPDATE SET files = excluded.files;

-- name: prune_replays — delete those of old targets and of commits that are no branch's tip
DELETE FROM replay_verdicts
WHERE target_oid NOT IN (SELECT value FROM json_each(:targets)) OR tip_oid NOT IN (SELECT value FROM json_each(:live));

-- name: prune_forks — delete those of old targets and of commits that are no branch's tip
DELETE FROM tip_forks
WHERE target_oid NOT IN (SELECT value FROM json_each(:targets)) OR tip_oid NOT IN (SELECT value FROM json_each(:live));

-- name: prune_changes — delete those of commits that are neither a branch's tip nor a fork point
DELETE FROM tip_changes
WHERE tip_oid NOT IN (SELECT value FROM json_each(:live))
    AND tip_oid NOT IN (SELECT base_oid FROM tip_forks WHERE base_oid IS NOT NULL);

-- name: prune_verdicts — delete those with two of: one not a tip, other not a tip, old
DELETE FROM merge_verdicts
WHERE CASE WHEN one_oid IN (SELECT value FROM json_each(:live)) THEN 0 ELSE 1 END
    + CASE WHEN other_oid IN (SELECT value FROM json_each(:live)) THEN 0 ELSE 1 END
    + CASE WHEN ts_ms < :before THEN 1 ELSE 0 END > 1;

-- name: due — refs that moved since the last radar, newest first
SELECT ref, ts_ms FROM radar_due WHERE retry_at_ms <= :now ORDER BY ts_ms DESC;

-- name: put_off — try these refs again later, after a failure
UPDATE radar_due SET retry_at_ms = :until;

-- name: looked_at — a ref that has not moved since the radar checked it
DELETE FROM radar_due WHERE ref = :ref AND ts_ms = :ts_ms;

-- name: forget_due — refs that are not a worker's branch
DELETE FROM radar_due WHERE ref NOT IN (SELECT value FROM json_each(:refs));

-- name: warn — record that a conflict warning was published for a pair
INSERT INTO conflict_warnings (one_ref, other_ref, ts_ms) VALUES (:one, :other, :now)
ON CONFLICT DO NOTHING;

-- name: forget_warning — a pair that merges cleanly again
DELETE FROM conflict_warnings WHERE one_ref = :one AND other_ref = :other;

-- name: forget_warnings — pairs of branches that are no longer watched
DELETE FROM conflict_warnings
WHERE one_ref NOT IN (SELECT value FROM json_each(:refs))
    OR other_ref NOT IN (SELECT value FROM json_each(:refs));
