-- name: of_task — the dependencies of a task
SELECT depends_on AS task, until FROM task_dependencies WHERE task_id = :task ORDER BY depends_on;

-- name: stacked — the dependency on handed-in work that has not landed
SELECT d.depends_on AS task FROM task_dependencies AS d JOIN tasks AS t ON t.id = d.depends_on
WHERE d.task_id = :task AND d.until = 'done' AND t.status IN ('VERIFYING', 'AWAITING_APPROVAL');

-- name: dependents — the tasks that depend on a task
SELECT task_id AS task, until FROM task_dependencies WHERE depends_on = :task ORDER BY task_id;

-- name: every — every dependency
SELECT task_id, depends_on, until FROM task_dependencies;

-- name: every_open — every dependency that is neither satisfied nor waived
SELECT d.task_id, d.depends_on AS id, d.until AS until, n.status AS status
FROM tasks AS t JOIN task_dependencies AS d ON d.task_id = t.id
LEFT JOIN tasks AS n ON n.id = d.depends_on
WHERE t.open_needs > 0 AND t.waives_needs = 0 AND n.status IS NOT 'COMPLETED'
    AND NOT (d.until = 'done' AND COALESCE(n.status, '') IN ('VERIFYING', 'AWAITING_APPROVAL'))
ORDER BY d.task_id, d.depends_on;

-- name: leads_to — whether a task depends on another, directly or not
WITH RECURSIVE needed(id) AS (
    SELECT depends_on FROM task_dependencies WHERE task_id = :task
    UNION SELECT d.depends_on FROM task_dependencies AS d JOIN needed ON d.task_id = needed.id
)
SELECT 1 AS found WHERE :task = :other OR EXISTS (SELECT 1 FROM needed WHERE id = :other);

-- name: insert — a dependency
INSERT INTO task_dependencies (task_id, depends_on, until) VALUES (:task, :on, :until);

-- name: delete — a dependency
DELETE FROM task_dependencies WHERE task_id = :task AND depends_on = :on;
