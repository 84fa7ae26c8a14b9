-- name: forks — the fork points of tips and a target
SELECT tip_oid, base_oid FROM tip_forks WHERE target_oid = :target;

-- name: add_forks — the fork points of tips and a target: [[tip, base], …]
INSERT OR REPLACE INTO tip_forks (target_oid, tip_oid, base_oid)
SELECT :target, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows);

-- name: changes — the changes of tips
SELECT base_oid, tip_oid, changes FROM tip_changes
WHERE base_oid IN (SELECT value FROM json_each(:bases));

-- name: add_changes — the differences between commits: [[base, tip, changes], …]
INSERT OR REPLACE INTO tip_changes (base_oid, tip_oid, changes)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each(:rows);

-- name: verdicts — the results of merging these commits with any other
SELECT one_oid, other_oid, files FROM merge_verdicts
WHERE one_oid IN (SELECT value FROM json_each(:tips));

-- name: add_verdicts — the results of merging commits: [[one, other, files], …]
INSERT OR REPLACE INTO merge_verdicts (one_oid, other_oid, files, ts_ms)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), :now
FROM json_each(:rows);

-- name: replays — the results of rebasing tips onto a target
SELECT tip_oid, files FROM replay_verdicts WHERE target_oid = :target;

-- name: add_replays — the results of rebasing tips onto a target: [[tip, files], …]
INSERT OR REPLACE INTO replay_verdicts (target_oid, tip_oid, files)
SELECT :target, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows);

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
WHERE (one_oid NOT IN (SELECT value FROM json_each(:live)))
    + (other_oid NOT IN (SELECT value FROM json_each(:live))) + (ts_ms < :before) > 1;

-- name: due — refs that moved since the last radar, newest first
SELECT ref, ts_ms FROM radar_due WHERE retry_at_ms <= :now ORDER BY ts_ms DESC;

-- name: put_off — try these refs again later, after a failure
UPDATE radar_due SET retry_at_ms = :until;

-- name: looked_at — a ref that has not moved since the radar checked it
DELETE FROM radar_due WHERE ref = :ref AND ts_ms = :ts_ms;

-- name: forget_due — refs that are not a worker's branch
DELETE FROM radar_due WHERE ref NOT IN (SELECT value FROM json_each(:refs));

-- name: warn — record that a conflict warning was published for a pair
INSERT OR IGNORE INTO conflict_warnings (one_ref, other_ref, ts_ms) VALUES (:one, :other, :now);

-- name: forget_warning — a pair that merges cleanly again
DELETE FROM conflict_warnings WHERE one_ref = :one AND other_ref = :other;

-- name: forget_warnings — pairs of branches that are no longer watched
DELETE FROM conflict_warnings
WHERE one_ref NOT IN (SELECT value FROM json_each(:refs))
    OR other_ref NOT IN (SELECT value FROM json_each(:refs));
