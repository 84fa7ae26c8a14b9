-- name: insert — record a landing
INSERT INTO landings (operation_id, worker_id, task_id, branch, target_ref, target_old, target_new,
    branch_old, landed_at_ms)
VALUES (:operation, :worker, :task, :branch, :target_ref, :target_old, :target_new, :branch_old,
    :now);

-- name: mark_undone — record that a landing was undone
UPDATE landings SET undone_at_ms = :now
WHERE operation_id = :operation AND worker_id = :worker AND task_id = :task
    AND undone_at_ms IS NULL;

-- name: all — every landing that was not undone, oldest first
SELECT worker_id, task_id, target_ref, target_old, target_new, branch_old, landed_at_ms
FROM landings WHERE undone_at_ms IS NULL ORDER BY id;

-- name: of_tasks — the workers that landed some of these tasks, oldest landing first
SELECT l.task_id, l.worker_id FROM json_each(:tasks) AS t CROSS JOIN workers AS w
CROSS JOIN landings AS l INDEXED BY idx_landings_worker
    ON l.worker_id = w.worker_id AND l.task_id = t.value AND l.undone_at_ms IS NULL
ORDER BY l.id;

-- name: on_target — the landings on one target that were not undone, oldest first
SELECT worker_id, task_id, target_ref, target_old, target_new, branch_old, landed_at_ms
FROM landings INDEXED BY idx_landings_target
WHERE target_ref = :target AND undone_at_ms IS NULL ORDER BY id;

-- name: of_task — the newest landing of a worker's task that was not undone
SELECT worker_id, task_id, target_ref, target_old, target_new, branch_old, landed_at_ms
FROM landings WHERE worker_id = :worker AND task_id = :task AND undone_at_ms IS NULL
ORDER BY id DESC LIMIT 1;
