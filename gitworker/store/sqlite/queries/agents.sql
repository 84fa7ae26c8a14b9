-- name: of_names — the registered agents with one of two names
SELECT id, name, agent_type, state, version, max_concurrent_tasks, current_task_id, command,
    capabilities, env, is_paused, is_leaving, total_tokens_used, session_tokens_used, created_at_ms,
    machine
FROM agents WHERE name IN (:one, :other) AND state <> 'SHUTDOWN' ORDER BY name;

-- name: all — every registered agent by name
SELECT id, name, agent_type, state, version, max_concurrent_tasks, current_task_id, command,
    capabilities, env, is_paused, is_leaving, total_tokens_used, session_tokens_used, created_at_ms,
    machine
FROM agents WHERE state <> 'SHUTDOWN' ORDER BY name;

-- name: count_of_name — the number of agents that had a name, removed ones included
SELECT COUNT(*) AS number FROM agents WHERE name = :name;

-- name: insert — a new agent, INITIALIZING
INSERT INTO agents (id, name, agent_type, max_concurrent_tasks, command, capabilities, env,
    machine, state_changed_at_ms, created_at_ms)
VALUES (:id, :name, :agent_type, :tasks, :command, :capabilities, :env, :machine, :now, :now);

-- name: set_flags — whether a person has paused or removed the agent
UPDATE agents SET is_paused = :is_paused, is_leaving = :is_leaving WHERE id = :id;

-- name: set_task — the task of an agent, and the worktree
UPDATE agents SET current_task_id = :task, checkout_path = :path WHERE id = :id;

-- name: charge — the tokens that an agent has used; those of the last session are the last run's
UPDATE agents SET total_tokens_used = total_tokens_used + :tokens, session_tokens_used = :tokens
WHERE id = :id;

-- name: slots — the workers of an agent, with the status of their tasks
SELECT w.worker_id, w.state, w.stale_from, w.waits_for_author, w.task_id, w.worktree,
    CASE WHEN COALESCE(t.assigned_agent_id, w.worker_id) = w.worker_id THEN t.status END AS status
FROM workers AS w LEFT JOIN tasks AS t ON t.id = w.task_id
WHERE w.worker_id = :name OR (w.worker_id > :name || '-' AND w.worker_id < :name || '.')
ORDER BY w.worker_id;
