-- name: open — the projects that may start tasks
SELECT id FROM projects
WHERE status = 'ACTIVE' AND (budget_limit IS NULL OR total_tokens_used < budget_limit)
ORDER BY id;

-- name: by_id — one project
SELECT id, name, credit_weight, max_concurrent_agents, status, total_tokens_used, budget_limit,
    discord_channel_id
FROM projects WHERE id = :project;

-- name: all — every project by id
SELECT id, name, credit_weight, max_concurrent_agents, status, total_tokens_used, budget_limit,
    discord_channel_id
FROM projects ORDER BY id;

-- name: any_target — a project with a target of notifications
SELECT 1 AS found FROM projects WHERE discord_channel_id IS NOT NULL LIMIT 1;

-- name: insert — a new project
INSERT INTO projects (id) VALUES (:project);

-- name: update — the fields of a project
UPDATE projects SET name = :name, credit_weight = :weight, status = :status, budget_limit = :budget,
    discord_channel_id = :channel
WHERE id = :project;

-- name: set_agents — the number of agents at once; from then on it also limits starts by hand
UPDATE projects SET max_concurrent_agents = :agents WHERE id = :project;

-- name: repo — the repository of a project
SELECT id, project_id, source_type, url, source_path, default_branch, checkout_base_path
FROM repos WHERE project_id = :project ORDER BY id LIMIT 1;

-- name: set_repo — record the repository of a project
INSERT INTO repos (id, project_id, source_type, url, source_path, default_branch, checkout_base_path)
VALUES (:repo, :project, :source_type, :url, :source_path, :branch, :base)
ON CONFLICT (id) DO UPDATE SET source_type = excluded.source_type, url = excluded.url,
    source_path = excluded.source_path, default_branch = excluded.default_branch,
    checkout_base_path = excluded.checkout_base_path;

-- name: charge — count the tokens that a project has used
UPDATE projects SET total_tokens_used = total_tokens_used + :tokens WHERE id = :project;

-- name: spend — count the reported cost of a run, or its tokens without one
INSERT INTO project_spending
    (project_id, agent, model, input_tokens, output_tokens, cached_tokens, cost_usd)
VALUES (:project, :agent, :model, MAX(0, :input_tokens), MAX(0, :output_tokens),
    MAX(0, :cached_tokens), :cost_usd)
ON CONFLICT (project_id, agent, model) DO UPDATE SET
    input_tokens = MAX(0, project_spending.input_tokens + :input_tokens),
    output_tokens = MAX(0, project_spending.output_tokens + :output_tokens),
    cached_tokens = MAX(0, project_spending.cached_tokens + :cached_tokens),
    cost_usd = COALESCE(
        project_spending.cost_usd + :cost_usd, project_spending.cost_usd, :cost_usd);

-- name: spending — the reported cost of each project, and its tokens without one, by agent and model
SELECT project_id AS name, agent, model, input_tokens, output_tokens, cached_tokens, cost_usd
FROM project_spending ORDER BY project_id, agent, model;

-- name: charge_task — count the tokens that a task has used, and name its project
UPDATE tasks SET tokens_used = tokens_used + :tokens WHERE id = :task RETURNING project_id;
