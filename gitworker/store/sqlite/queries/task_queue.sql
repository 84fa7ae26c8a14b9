-- name: ready — the tasks that may start now, in their order
SELECT id, title, priority, created_at_ms FROM tasks INDEXED BY idx_tasks_ready
WHERE status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
ORDER BY priority, created_at_ms, position, id LIMIT :limit;

-- name: count_by_status — the number of tasks in each status
SELECT status, COUNT(*) AS number FROM tasks GROUP BY status;

-- name: waive — count the dependencies of a task no longer
UPDATE tasks SET waives_needs = 1 WHERE id = :task;

-- name: set_held — hold a task back, or release it
UPDATE tasks SET held = :held WHERE id = :task AND held <> :held;
