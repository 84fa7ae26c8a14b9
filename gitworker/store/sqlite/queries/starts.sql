-- name: of_task — the limits of a task and of its project
SELECT t.held, t.budget_tokens, t.tokens_used, p.id, p.status, p.max_concurrent_agents, p.limits_agents, p.budget_limit,
    p.total_tokens_used
FROM projects AS p LEFT JOIN tasks AS t ON t.id = :task
WHERE p.id = COALESCE((SELECT project_id FROM tasks WHERE id = :task), :project);

-- name: of_agent — the state, the limit and the task of an agent
SELECT id, state, max_concurrent_tasks, current_task_id FROM agents
WHERE COALESCE(NULLIF(name, ''), id) = :agent AND state <> 'SHUTDOWN';

-- name: paths — the paths that a task declares
SELECT paths FROM tasks WHERE id = :task;

-- name: running — the tasks at work, with the paths that they declare
SELECT id, paths FROM tasks
WHERE status IN ('ASSIGNED', 'IN_PROGRESS', 'WAITING_INPUT', 'PAUSED') ORDER BY id;

-- name: projects — the projects that may start agents, with their turns
SELECT id, status, max_concurrent_agents, limits_agents, budget_limit, total_tokens_used,
    credit_weight, credit_ms, accounted_at_ms
FROM projects WHERE status <> 'ARCHIVED' ORDER BY id;

-- name: account — the credit of a project, up to a time
UPDATE projects SET credit_ms = :credit_ms, accounted_at_ms = :now WHERE id = :project;

-- name: open — the project and the kind of agent of each run that has not ended
SELECT r.id, COALESCE(t.project_id, :project) AS project, COALESCE(
        r.agent, CASE WHEN json_valid(r.request) THEN json_extract(r.request, '$.agent') END,
        'command'
    ) AS agent_type
FROM runs AS r LEFT JOIN tasks AS t ON t.id = r.task_id
WHERE r.ended_at_ms IS NULL ORDER BY r.id;
