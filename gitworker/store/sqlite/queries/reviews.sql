-- name: insert — a request or a verdict
INSERT INTO reviews (worker_id, task_id, verdict, reviewer, identity, commit_oid, base_oid, patches,
    note, ts_ms)
VALUES (:worker, :task, :verdict, :reviewer, :identity, :commit_oid, :base_oid, :patches, :note,
    :now);

-- name: latest — the newest row of a worker's task
SELECT id, worker_id, task_id, verdict, reviewer, identity, commit_oid, base_oid, patches, note,
    ts_ms
FROM reviews WHERE worker_id = :worker AND task_id = :task ORDER BY id DESC LIMIT 1;

-- name: latest_verdict — the newest row of a worker's task with this verdict
SELECT id, worker_id, task_id, verdict, reviewer, identity, commit_oid, base_oid, patches, note,
    ts_ms
FROM reviews WHERE worker_id = :worker AND task_id = :task AND verdict = :verdict
ORDER BY id DESC LIMIT 1;

-- name: seen — the commits of a worker's task that were handed in or approved, newest first
SELECT commit_oid FROM reviews
WHERE worker_id = :worker AND task_id = :task AND verdict IN ('requested', 'approved')
ORDER BY id DESC;
