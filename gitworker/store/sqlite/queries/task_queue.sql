-- name: ready_of_project — the tasks of a project that may start now, in their order
SELECT id, title, priority, created_at_ms, position, project_id
FROM tasks INDEXED BY idx_tasks_ready_of_project
WHERE project_id = :project
    AND status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
ORDER BY priority, created_at_ms, position, id LIMIT :limit;

-- name: counts — the number of tasks of each project in each status
SELECT project_id, status, number FROM task_counts WHERE number > 0 ORDER BY project_id, status;

-- name: waive — count the dependencies of a task no longer
UPDATE tasks SET waives_needs = 1 WHERE id = :task;

-- name: set_held — hold a task back, or release it
UPDATE tasks SET held = :held WHERE id = :task AND held <> :held;
