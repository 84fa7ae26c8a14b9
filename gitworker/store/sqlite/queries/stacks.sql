-- name: set — the parent of a worker's task
INSERT INTO stacks (worker_id, task_id, parent_worker, parent_task, parent_branch, parent_oid, ts_ms)
VALUES (:worker, :task, :parent_worker, :parent_task, :parent_branch, :parent_oid, :now)
ON CONFLICT (worker_id, task_id) DO UPDATE SET parent_worker = excluded.parent_worker,
    parent_task = excluded.parent_task, parent_branch = excluded.parent_branch,
    parent_oid = excluded.parent_oid, ts_ms = excluded.ts_ms;

-- name: move — the commit at which a branch begins now
UPDATE stacks SET parent_oid = :parent_oid WHERE worker_id = :worker AND task_id = :task;

-- name: forget — a task that is no longer stacked
DELETE FROM stacks WHERE worker_id = :worker AND task_id = :task;

-- name: of_worker — the parent of a worker's task
SELECT worker_id, task_id, parent_worker, parent_task, parent_branch, parent_oid
FROM stacks WHERE worker_id = :worker AND task_id = :task;

-- name: all — every stack
SELECT worker_id, task_id, parent_worker, parent_task, parent_branch, parent_oid
FROM stacks ORDER BY worker_id, task_id;

-- name: tips_of — the tips of a worker's branch that are recorded outside of the journal
SELECT commit_oid AS oid FROM reviews WHERE worker_id = :worker AND task_id = :task
UNION SELECT branch_old FROM landings WHERE worker_id = :worker AND task_id = :task
UNION SELECT target_new FROM landings WHERE worker_id = :worker AND task_id = :task
UNION SELECT new_oid FROM own_rewrites WHERE ref = :ref
UNION SELECT old_oid FROM own_rewrites WHERE ref = :ref
UNION SELECT oid FROM published_tips WHERE ref = :ref;

-- name: started_on — workers whose branch was started on another's
SELECT worker_id, task_id FROM stacks WHERE parent_worker = :worker AND parent_task = :task;

-- name: on_top — workers that are stacked on a worker's task and have not landed
SELECT s.worker_id FROM stacks AS s
JOIN workers AS w ON w.worker_id = s.worker_id AND w.task_id = s.task_id
WHERE s.parent_worker = :worker AND s.parent_task = :task AND w.state IS NOT 'COMPLETED'
ORDER BY s.worker_id;
