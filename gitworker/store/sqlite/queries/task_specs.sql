-- name: by_id — the fields of a task that its author sets
SELECT id, title, description, priority, verification_type, max_retries, requires_approval,
    acceptance_criteria, test_commands, attached_context, paths, timeout_s, agent, held, critical,
    parent_task_id, plan_source, is_plan_subtask, workstream_id, project_id, position,
    capabilities, budget_tokens
FROM tasks WHERE id = :task;

-- name: insert — a new task, DEFINED
INSERT INTO tasks (id, title, description, priority, verification_type, max_retries,
    requires_approval, acceptance_criteria, test_commands, attached_context, paths, timeout_s, agent,
    held, critical, parent_task_id, plan_source, is_plan_subtask, workstream_id, project_id,
    position, capabilities, budget_tokens, status_changed_at_ms, created_at_ms)
VALUES (:task, :title, :description, :priority, :verification_type, :max_retries,
    :requires_approval, :acceptance_criteria, :test_commands, :attached_context, :paths, :timeout_s,
    :agent, :held, :critical, :parent_task_id, :plan_source, :is_plan_subtask, :workstream_id,
    :project_id, :position, :capabilities, :budget_tokens, :now, :now);

-- name: update — the fields of a task that its author may change
UPDATE tasks SET title = :title, description = :description, priority = :priority,
    verification_type = :verification_type, max_retries = MAX(:max_retries, retry_count),
    requires_approval = :requires_approval, acceptance_criteria = :acceptance_criteria,
    test_commands = :test_commands, attached_context = :attached_context, paths = :paths,
    timeout_s = :timeout_s, agent = :agent, critical = :critical, plan_source = :plan_source,
    workstream_id = :workstream_id, project_id = :project_id, position = :position,
    capabilities = :capabilities, budget_tokens = :budget_tokens
WHERE id = :task;
