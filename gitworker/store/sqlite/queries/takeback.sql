-- name: window — the landings of the fast-forward that one operation began, in their order
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations
WHERE id >= :first AND kind = 'merge' AND (
    id = :first OR CASE WHEN json_valid(data) THEN json_extract(data, '$.window') END = :first
)
ORDER BY id;

-- name: later — later operations on a worker's task that were not undone, newest first
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations
WHERE id > :id AND status = 'done' AND worker_id = :worker AND task_id = :task
    AND kind IN ('approve', 'merge', 'cancel', 'reset', 'remove')
ORDER BY id DESC;

-- name: stacked_on — workers whose branch was started on another's
SELECT worker_id, task_id FROM stacks WHERE parent_worker = :worker AND parent_task = :task;

-- name: rescued — the creation time of each rescue ref that an operation names
SELECT ref, MAX(at_ms) AS at_ms FROM (
    SELECT CASE WHEN json_valid(data) THEN json_extract(data, '$.rescue') END AS ref,
        updated_at_ms AS at_ms
    FROM operations
) WHERE ref IS NOT NULL GROUP BY ref;

-- name: rewrites — old and new commit of each of our replays
SELECT CASE WHEN json_valid(data) THEN json_extract(data, '$.old') END AS old,
    CASE WHEN json_valid(data) THEN json_extract(data, '$.new') END AS new
FROM operations WHERE kind IN ('approve', 'merge') AND status IN ('done', 'undone')
UNION ALL SELECT old_oid, new_oid FROM own_rewrites;
