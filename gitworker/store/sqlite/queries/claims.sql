-- name: of_task — the claim on a task, if any
SELECT task_id, claimed_by, claimed_at_ms, lease_until_ms FROM task_claims WHERE task_id = :task;

-- name: take — claim a task unless somebody else holds an unexpired claim; changes one row or none
INSERT INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)
VALUES (:task, :agent, :now, :lease_until_ms)
ON CONFLICT (task_id) DO UPDATE SET
    claimed_by = excluded.claimed_by, claimed_at_ms = excluded.claimed_at_ms,
    lease_until_ms = excluded.lease_until_ms
WHERE task_claims.claimed_by = excluded.claimed_by OR task_claims.lease_until_ms <= :now;

-- name: release — give a claim back
DELETE FROM task_claims WHERE task_id = :task AND claimed_by = :agent;
