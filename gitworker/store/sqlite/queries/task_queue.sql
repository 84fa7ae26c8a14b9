-- name: ready_of_project — the tasks of a project that may start now, without the paths :besides
SELECT id, title, priority, created_at_ms, position, project_id,
    IFNULL(agent, '') || ' ' || capabilities AS kind
FROM tasks INDEXED BY idx_tasks_ready_of_project
WHERE project_id = :project
    AND status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
    AND paths NOT IN (SELECT value FROM json_each(:besides))
ORDER BY priority, created_at_ms, position, id LIMIT :limit;

-- name: ready_kinds — the kinds of the tasks of a project that may start now, one search for each
WITH RECURSIVE kinds(kind) AS (
    SELECT (
        SELECT IFNULL(agent, '') || ' ' || capabilities FROM tasks
        WHERE project_id = :project
            AND status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
        ORDER BY IFNULL(agent, '') || ' ' || capabilities LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT IFNULL(agent, '') || ' ' || capabilities FROM tasks
        WHERE project_id = :project AND IFNULL(agent, '') || ' ' || capabilities > kinds.kind
            AND status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
        ORDER BY IFNULL(agent, '') || ' ' || capabilities LIMIT 1
    ) FROM kinds WHERE kinds.kind IS NOT NULL
)
SELECT kind FROM kinds WHERE kind IS NOT NULL LIMIT :limit;

-- name: ready_of_kind — the tasks of one kind of a project that may start now, in their order
SELECT id, title, priority, created_at_ms, position, project_id,
    IFNULL(agent, '') || ' ' || capabilities AS kind
FROM tasks
WHERE project_id = :project AND IFNULL(agent, '') || ' ' || capabilities = :kind
    AND status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1)
ORDER BY priority, created_at_ms, position, id LIMIT :limit;

-- name: counts — the number of tasks of each project in each status
SELECT project_id, status, number FROM task_counts WHERE number > 0 ORDER BY project_id, status;

-- name: waive — count the dependencies of a task no longer
UPDATE tasks SET waives_needs = 1 WHERE id = :task;

-- name: set_held — hold a task back, or release it
UPDATE tasks SET held = :held WHERE id = :task AND held <> :held;
