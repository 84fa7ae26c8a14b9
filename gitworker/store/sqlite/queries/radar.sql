-- name: forks — where tips left a target
SELECT tip_oid, base_oid FROM tip_forks WHERE target_oid = :target;

-- name: add_forks — where tips left a target: [[tip, base], …]
INSERT OR REPLACE INTO tip_forks (target_oid, tip_oid, base_oid)
SELECT :target, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rows);

-- name: changes — what tips have changed
SELECT base_oid, tip_oid, changes FROM tip_changes
WHERE base_oid IN (SELECT value FROM json_each(:bases));

-- name: add_changes — what differs between commits: [[base, tip, changes], …]
INSERT OR REPLACE INTO tip_changes (base_oid, tip_oid, changes)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
FROM json_each(:rows);

-- name: verdicts — what merging these commits with any other gave
SELECT one_oid, other_oid, files FROM merge_verdicts
WHERE one_oid IN (SELECT value FROM json_each(:tips));

-- name: add_verdicts — what merging commits gave: [[one, other, files], …]
INSERT OR REPLACE INTO merge_verdicts (one_oid, other_oid, files, ts_ms)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), :now
FROM json_each(:rows);

-- name: prune_forks — those of targets that have moved on, and of commits that are nobody's
DELETE FROM tip_forks
WHERE target_oid <> :target OR tip_oid NOT IN (SELECT value FROM json_each(:live));

-- name: prune_changes — those of commits that are nobody's, and where nobody left the target
DELETE FROM tip_changes
WHERE tip_oid NOT IN (SELECT value FROM json_each(:live))
    AND tip_oid NOT IN (SELECT base_oid FROM tip_forks WHERE base_oid IS NOT NULL);

-- name: prune_verdicts — those of commits that are nobody's, and old ones with one such commit
DELETE FROM merge_verdicts
WHERE (one_oid NOT IN (SELECT value FROM json_each(:live)))
    + (other_oid NOT IN (SELECT value FROM json_each(:live))) + (ts_ms < :before) > 1;

-- name: due — refs that moved since the radar looked at them, the last one first
SELECT ref, ts_ms FROM radar_due WHERE retry_at_ms <= :now ORDER BY ts_ms DESC;

-- name: put_off — look at them later, after a failure
UPDATE radar_due SET retry_at_ms = :until;

-- name: looked_at — a ref that has not moved since
DELETE FROM radar_due WHERE ref = :ref AND ts_ms = :ts_ms;

-- name: forget_due — refs that are no branch's of a worker
DELETE FROM radar_due WHERE ref NOT IN (SELECT value FROM json_each(:refs));

-- name: warned — pairs whose workers were told of a conflict
SELECT one_ref, other_ref FROM conflict_warnings;

-- name: warn — record that a pair's workers are told
INSERT OR IGNORE INTO conflict_warnings (one_ref, other_ref, ts_ms) VALUES (:one, :other, :now);

-- name: forget_warning — a pair that merges cleanly again
DELETE FROM conflict_warnings WHERE one_ref = :one AND other_ref = :other;

-- name: forget_warnings — pairs of branches that nobody watches any more
DELETE FROM conflict_warnings
WHERE one_ref NOT IN (SELECT value FROM json_each(:refs))
    OR other_ref NOT IN (SELECT value FROM json_each(:refs));
