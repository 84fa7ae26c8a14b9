-- name: insert — a new task, DEFINED
INSERT INTO tasks (id, title, requires_approval, max_retries, status_changed_at_ms, created_at_ms)
VALUES (:task, :title, :requires_approval, :max_retries, :now, :now);

-- name: text — the text and the title of a task, the fields that its agent reads, last error, answers
SELECT description, title, acceptance_criteria, test_commands, attached_context, last_error,
    (SELECT json_group_array(json_array(q.text, q.answer)) FROM (
        SELECT text, answer FROM questions
        WHERE task_id = :task AND state = 'answered' ORDER BY id) AS q) AS answers
FROM tasks WHERE id = :task;

-- name: ids — the ids of all tasks
SELECT id FROM tasks;

-- name: by_id — one task
SELECT id, title, status, priority, held, version, status_changed_at_ms, retry_count, max_retries, recovery_count,
    requires_approval, assigned_agent_id, branch_name, resume_after_ms, workstream_id, critical,
    pr_url, last_error, incarnation, view, created_at_ms, started_at_ms, completed_at_ms,
    project_id, tokens_used
FROM tasks WHERE id = :task;

-- name: all — every task by id
SELECT id, title, status, priority, held, version, status_changed_at_ms, retry_count, max_retries, recovery_count,
    requires_approval, assigned_agent_id, branch_name, resume_after_ms, workstream_id, critical,
    pr_url, last_error, incarnation, view, created_at_ms, started_at_ms, completed_at_ms,
    project_id, tokens_used
FROM tasks ORDER BY id;

-- name: open_dependencies — the tasks that a task still waits for, until when, and their statuses
SELECT d.depends_on AS id, d.until AS until, n.status AS status
FROM tasks AS t JOIN task_dependencies AS d ON d.task_id = t.id
LEFT JOIN tasks AS n ON n.id = d.depends_on
WHERE t.id = :task AND t.waives_needs = 0 AND n.status IS NOT 'COMPLETED'
    AND NOT (d.until = 'done' AND COALESCE(n.status, '') IN ('VERIFYING', 'AWAITING_APPROVAL'))
ORDER BY d.depends_on;

-- name: dependencies — the tasks that must land before a task begins
SELECT depends_on AS id FROM task_dependencies WHERE task_id = :task AND until = 'landed'
ORDER BY depends_on;

-- name: due_retries — failed tasks whose back-off is over, or that failed before the clock was set back
SELECT id FROM tasks INDEXED BY idx_tasks_failed WHERE status = 'FAILED' AND resume_after_ms IS NOT NULL
    AND (resume_after_ms <= :now OR status_changed_at_ms > :now + 60000);

-- name: unblocked — DEFINED tasks without an open dependency, in their order
SELECT id FROM tasks INDEXED BY idx_tasks_unblocked
WHERE status = 'DEFINED' AND open_needs = 0
ORDER BY priority, created_at_ms, position, id LIMIT :limit;

-- name: set_view — the position of a task in the lifecycle view
UPDATE tasks SET incarnation = :incarnation, view = :view WHERE id = :task;

-- name: set_assigned — the agent and the branch of a task
UPDATE tasks SET assigned_agent_id = :agent, branch_name = :branch WHERE id = :task;

-- name: set_started — when work on the task began, kept from the first start
UPDATE tasks SET started_at_ms = COALESCE(started_at_ms, :now), completed_at_ms = NULL
WHERE id = :task;

-- name: set_completed — when the task was completed
UPDATE tasks SET completed_at_ms = :now WHERE id = :task;

-- name: set_retry — the number of retries, the end of the back-off, and the last error
UPDATE tasks SET retry_count = :retry_count, resume_after_ms = :resume_after_ms WHERE id = :task;

-- name: set_recoveries — recoveries in a row
UPDATE tasks SET recovery_count = :count WHERE id = :task;

-- name: set_error — why the task failed
UPDATE tasks SET last_error = :error WHERE id = :task;

-- name: set_pr — the address of the task's pull request
UPDATE tasks SET pr_url = :pr_url WHERE id = :task;

-- name: set_title — the title of a task
UPDATE tasks SET title = :title WHERE id = :task;

-- name: set_text — the text of a task
UPDATE tasks SET description = :text WHERE id = :task;

-- name: next_retry — the time of the next retry of a failed task
SELECT MIN(resume_after_ms) AS at_ms FROM tasks INDEXED BY idx_tasks_failed WHERE status = 'FAILED';

-- name: blocked_by — the BLOCKED tasks with this last error
SELECT id FROM tasks WHERE status = 'BLOCKED' AND last_error = :error ORDER BY id;

-- name: over_budget — the tasks that have used their budget, by id
SELECT id, status, tokens_used, budget_tokens AS budget, project_id
FROM tasks INDEXED BY idx_tasks_over_budget
WHERE budget_tokens IS NOT NULL AND tokens_used >= budget_tokens ORDER BY id;

-- name: skipped — a task whose last step is a skip
SELECT t.id FROM tasks AS t
JOIN transitions AS x ON x.machine = 'task' AND x.entity_id = t.id AND x.version = t.version
WHERE t.id = :task AND x.event = 'ADMIN_SKIP';

-- name: withdrawn_since — the last task that was cancelled or skipped later than a time, by itself
SELECT t.id, t.status FROM tasks AS t
JOIN transitions AS x ON x.machine = 'task' AND x.entity_id = t.id AND x.version = t.version
WHERE t.status IN ('CANCELLED', 'COMPLETED') AND t.status_changed_at_ms > :since
    AND x.event IN ('USER_CANCELLED', 'ADMIN_SKIP') AND x.actor = :actor
    AND NOT EXISTS (
        SELECT 1 FROM workstreams AS w
        WHERE w.id = t.workstream_id AND w.state NOT IN ('planned', 'ready', 'executing')
    )
ORDER BY t.status_changed_at_ms DESC LIMIT 1;
