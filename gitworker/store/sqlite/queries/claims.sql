-- name: of_name — the claim on a name, if any; clock columns only if they belong to its lease
SELECT CAST(c.task_id AS TEXT) AS task_id, CAST(c.claimed_by AS TEXT) AS claimed_by,
    CAST(c.claimed_at_ms AS INTEGER) AS claimed_at_ms,
    CAST(c.lease_until_ms AS INTEGER) AS lease_until_ms, COALESCE(e.epoch, 0) AS epoch,
    k.mono_until_ms, k.boot_id, k.host, k.lease_ms, k.is_fixed
FROM task_claims AS c
LEFT JOIN claim_epochs AS e ON e.task_id = c.task_id
LEFT JOIN claim_clocks AS k ON k.task_id = c.task_id AND k.lease_until_ms = c.lease_until_ms
WHERE c.task_id = :task;

-- name: all — every claim by name
SELECT CAST(c.task_id AS TEXT) AS task_id, CAST(c.claimed_by AS TEXT) AS claimed_by,
    CAST(c.claimed_at_ms AS INTEGER) AS claimed_at_ms,
    CAST(c.lease_until_ms AS INTEGER) AS lease_until_ms, COALESCE(e.epoch, 0) AS epoch,
    k.mono_until_ms, k.boot_id, k.host, k.lease_ms, k.is_fixed
FROM task_claims AS c
LEFT JOIN claim_epochs AS e ON e.task_id = c.task_id
LEFT JOIN claim_clocks AS k ON k.task_id = c.task_id AND k.lease_until_ms = c.lease_until_ms
ORDER BY c.task_id;

-- name: of_paths — every claim on a pattern of paths (`;` follows `:`)
SELECT CAST(c.task_id AS TEXT) AS task_id, CAST(c.claimed_by AS TEXT) AS claimed_by,
    CAST(c.claimed_at_ms AS INTEGER) AS claimed_at_ms,
    CAST(c.lease_until_ms AS INTEGER) AS lease_until_ms, COALESCE(e.epoch, 0) AS epoch,
    k.mono_until_ms, k.boot_id, k.host, k.lease_ms, k.is_fixed
FROM task_claims AS c
LEFT JOIN claim_epochs AS e ON e.task_id = c.task_id
LEFT JOIN claim_clocks AS k ON k.task_id = c.task_id AND k.lease_until_ms = c.lease_until_ms
WHERE c.task_id >= 'path:' AND c.task_id < 'path;' ORDER BY c.task_id;

-- name: of_holder — the leases that an agent's heartbeat renews
SELECT c.task_id, CAST(c.lease_until_ms AS INTEGER) AS lease_until_ms, k.lease_ms,
    k.is_fixed
FROM task_claims AS c
LEFT JOIN claim_clocks AS k ON k.task_id = c.task_id AND k.lease_until_ms = c.lease_until_ms
WHERE c.claimed_by = :agent;

-- name: insert — a new claim; a trigger raises the name's epoch
INSERT INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)
VALUES (:task, :agent, :now, :lease_until_ms);

-- name: extend — a longer lease
UPDATE task_claims SET lease_until_ms = :lease_until_ms WHERE task_id = :task;

-- name: stamp — the clock readings that belong to a lease
INSERT INTO claim_clocks (
    task_id, lease_until_ms, mono_until_ms, boot_id, host, lease_ms, is_fixed
) VALUES (:task, :lease_until_ms, :mono_until_ms, :boot_id, :host, :lease_ms, :is_fixed)
ON CONFLICT (task_id) DO UPDATE SET
    lease_until_ms = excluded.lease_until_ms, mono_until_ms = excluded.mono_until_ms,
    boot_id = excluded.boot_id, host = excluded.host, lease_ms = excluded.lease_ms,
    is_fixed = excluded.is_fixed;

-- name: delete — delete the claim on a name
DELETE FROM task_claims WHERE task_id = :task;

-- name: delete_clock — delete the clock readings of a claim
DELETE FROM claim_clocks WHERE task_id = :task;

-- name: release — release a claim
DELETE FROM task_claims WHERE task_id = :task AND claimed_by = :agent;

-- name: epoch — the newest epoch of a name
SELECT epoch FROM claim_epochs WHERE task_id = :task;

-- name: pass_epoch — raise the epoch of a name, so that its last holder has lost the claim
UPDATE claim_epochs SET epoch = epoch + 1 WHERE task_id = :task;

-- name: grant — the epoch that a holder was given
INSERT INTO claim_grants (holder, task_id, epoch) VALUES (:agent, :task, :epoch)
ON CONFLICT (holder, task_id) DO UPDATE SET epoch = excluded.epoch;

-- name: granted — the last epoch that a holder was given
SELECT epoch FROM claim_grants WHERE holder = :agent AND task_id = :task;

-- name: forget_grant — a holder has released its claim
DELETE FROM claim_grants WHERE holder = :agent AND task_id = :task;

-- name: lost — the claims that an agent has lost, each with its present holder
SELECT g.task_id, CAST(c.claimed_by AS TEXT) AS claimed_by FROM claim_grants AS g
JOIN claim_epochs AS e ON e.task_id = g.task_id
LEFT JOIN task_claims AS c ON c.task_id = g.task_id
WHERE g.holder = :agent AND e.epoch > g.epoch AND c.claimed_by IS NOT g.holder
ORDER BY g.task_id;
