-- name: operations — every operation, with its data, which may be damaged
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations ORDER BY id;

-- name: wrong_workers — workers whose row differs from the transition log
SELECT w.worker_id AS entity, w.state AS state, w.version AS version,
    COALESCE(t.to_state, 'IDLE') AS logged_state, COALESCE(t.version, 0) AS logged_version
FROM workers AS w LEFT JOIN transitions AS t ON t.machine = 'worker' AND t.entity_id = w.worker_id
    AND t.version = (
        SELECT MAX(version) FROM transitions WHERE machine = 'worker' AND entity_id = w.worker_id
    )
WHERE w.state IS NOT COALESCE(t.to_state, 'IDLE') OR w.version IS NOT COALESCE(t.version, 0);

-- name: wrong_tasks — tasks whose row differs from the transition log
SELECT k.id AS entity, k.status AS state, k.version AS version,
    COALESCE(t.to_state, 'DEFINED') AS logged_state, COALESCE(t.version, 0) AS logged_version
FROM tasks AS k LEFT JOIN transitions AS t ON t.machine = 'task' AND t.entity_id = k.id
    AND t.version = (
        SELECT MAX(version) FROM transitions WHERE machine = 'task' AND entity_id = k.id
    )
WHERE k.status IS NOT COALESCE(t.to_state, 'DEFINED') OR k.version IS NOT COALESCE(t.version, 0);

-- name: broken_chains — transitions that do not begin in the state in which the last one ended
SELECT machine, entity_id, version, from_state, before_state, before_version FROM (
    SELECT machine, entity_id, version, from_state,
        LAG(to_state) OVER same AS before_state, COALESCE(LAG(version) OVER same, 0) AS before_version
    FROM transitions
    WINDOW same AS (PARTITION BY machine, entity_id ORDER BY version)
) AS chained WHERE version IS NOT before_version + 1
    OR (before_state IS NOT NULL AND before_state IS NOT from_state);

-- name: guards — the existing triggers
SELECT name, sql FROM sqlite_schema WHERE type = 'trigger';

-- name: blob_refs — large payloads that messages and dead letters name
SELECT payload_ref AS ref, 'message ' || seq AS place FROM messages WHERE payload_ref IS NOT NULL
UNION ALL
SELECT payload_ref, 'dead letter ' || id FROM dead_letters WHERE payload_ref IS NOT NULL
UNION ALL
SELECT payload_ref, 'message ' || id FROM fleet_outbox WHERE payload_ref IS NOT NULL;

-- name: set_data — replace the data of an operation
UPDATE operations SET data = :data WHERE id = :id;
