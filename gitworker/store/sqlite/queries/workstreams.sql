-- name: insert — a new workstream, planned
INSERT INTO workstreams (id, name, validation, branch, state_changed_at_ms, created_at_ms)
VALUES (:id, :title, :validation, :branch, :now, :now);

-- name: by_id — one workstream
SELECT id, name AS title, state, version, state_changed_at_ms, validation, created_at_ms,
    started_at_ms, ended_at_ms, last_error, archived_at_ms, branch, landed_oid
FROM workstreams WHERE id = :id;

-- name: all — every workstream, oldest first
SELECT id, name AS title, state, version, state_changed_at_ms, validation, created_at_ms,
    started_at_ms, ended_at_ms, last_error, archived_at_ms, branch, landed_oid
FROM workstreams ORDER BY COALESCE(created_at_ms, state_changed_at_ms), id;

-- name: due — workstreams with consequences that are not carried out yet
SELECT id FROM workstreams INDEXED BY idx_workstreams_due WHERE is_due = 1 ORDER BY id;

-- name: set_due — note whether consequences are left to carry out
UPDATE workstreams SET is_due = :due WHERE id = :id AND is_due <> :due;

-- name: settle — note that the consequences of this version are carried out
UPDATE workstreams SET is_due = 0 WHERE id = :id AND version = :version;

-- name: set_started — the start of its first task
UPDATE workstreams SET started_at_ms = :now WHERE id = :id AND started_at_ms IS NULL;

-- name: set_ended — its end
UPDATE workstreams SET ended_at_ms = :now WHERE id = :id;

-- name: set_landed — the commit with which its branch landed on the target; NULL after an undo
UPDATE workstreams SET landed_oid = :commit WHERE id = :id;

-- name: open_branches — the branches of workstreams that have to land
SELECT id, branch FROM workstreams
WHERE branch IS NOT NULL AND landed_oid IS NULL AND state NOT IN ('failed', 'cancelled')
ORDER BY id;

-- name: has_branch — whether the work of some workstream is on a branch that has not landed
SELECT 1 AS found FROM workstreams WHERE branch IS NOT NULL AND landed_oid IS NULL LIMIT 1;

-- name: branch_of_task — the branch on which a task lands, if it is that of a workstream
SELECT s.branch FROM tasks AS t JOIN workstreams AS s ON s.id = t.workstream_id
WHERE t.id = :task AND s.landed_oid IS NULL;

-- name: crossing — a dependency of a task, or on it, whose work is not in the other's branch
SELECT d.task_id AS task, d.depends_on AS other FROM task_dependencies AS d
JOIN tasks AS a ON a.id = d.task_id
JOIN tasks AS b ON b.id = d.depends_on
LEFT JOIN workstreams AS x ON x.id = a.workstream_id AND x.landed_oid IS NULL
LEFT JOIN workstreams AS y ON y.id = b.workstream_id AND y.landed_oid IS NULL
LEFT JOIN workstreams AS z ON z.id = b.workstream_id
WHERE (d.task_id = :task OR d.depends_on = :task) AND x.branch IS NOT y.branch AND NOT (
    x.branch IS NOT NULL AND z.branch IS NULL
    AND b.status = 'COMPLETED' AND b.completed_at_ms < x.created_at_ms
)
LIMIT 1;

-- name: set_error — why it failed, or could not be validated
UPDATE workstreams SET last_error = :error WHERE id = :id;

-- name: set_archived — when its archive was written
UPDATE workstreams SET archived_at_ms = :now WHERE id = :id;

-- name: shares — the number of its tasks by status and by whether they are critical
SELECT status, critical, number FROM workstream_counts
WHERE workstream_id = :id AND number > 0 ORDER BY status, critical;

-- name: members — its tasks, in their order
SELECT id, title, status, critical, retry_count, assigned_agent_id, started_at_ms, completed_at_ms,
    last_error
FROM tasks INDEXED BY idx_tasks_workstream WHERE workstream_id = :id
ORDER BY priority, created_at_ms, position, id;

-- name: open_task — its task that decides how it goes on: a stopped one, one in hand, a queued one
SELECT id FROM tasks INDEXED BY idx_tasks_workstream
WHERE workstream_id = :id AND status NOT IN ('COMPLETED', 'CANCELLED')
ORDER BY CASE status WHEN 'BLOCKED' THEN 0 WHEN 'FAILED' THEN 1 WHEN 'DEFINED' THEN 4
    WHEN 'READY' THEN 3 ELSE 2 END, priority, created_at_ms, position, id
LIMIT 1;

-- name: in_status — its tasks in one status
SELECT id FROM tasks INDEXED BY idx_tasks_workstream
WHERE workstream_id = :id AND status = :status ORDER BY id;

-- name: sums — the retries and the tokens of its tasks
SELECT COALESCE(SUM(retries), 0) AS retries, COALESCE(SUM(tokens), 0) AS tokens
FROM workstream_counts WHERE workstream_id = :id;

-- name: set_member — put a task into a workstream
UPDATE tasks SET workstream_id = :id WHERE id = :task;

-- name: transitions — its transitions, oldest first
SELECT ts_ms, from_state, event, to_state, actor FROM transitions
WHERE machine = 'workstream' AND entity_id = :id ORDER BY version;
