-- name: insert — a new run, with the process that waits to become the agent
INSERT INTO runs (worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start,
    host, boot_id, pid_ns, started_at_ms, request, log_start_bytes)
VALUES (:worker, :task, :command, :supervisor_pid, :supervisor_start, :pid, :pid_start,
    :host, :boot_id, :pid_ns, :now, :request, :log_start_bytes)
RETURNING id, worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start, host,
    boot_id, pid_ns, started_at_ms, ended_at_ms, paused_at_ms;

-- name: end — the end of a run; changes no row if it has ended
UPDATE runs SET ended_at_ms = :now, exit_status = :exit_status, reason = :reason,
    paused_at_ms = NULL
WHERE id = :run AND ended_at_ms IS NULL;

-- name: report — the outcome of a run, and the facts that its agent has reported
UPDATE runs SET outcome = :outcome, agent = :agent, session = :session,
    input_tokens = :input_tokens, output_tokens = :output_tokens, cached_tokens = :cached_tokens,
    cost_usd = :cost_usd, model = :model, failure = :failure, resets_at_ms = :resets_at_ms
WHERE id = :run;

-- name: used — what an open run has used so far
SELECT input_tokens, output_tokens, cached_tokens, cost_usd, model, token_times FROM runs
WHERE id = :run AND ended_at_ms IS NULL;

-- name: use — record what an open run has used so far
UPDATE runs SET input_tokens = :input_tokens, output_tokens = :output_tokens,
    cached_tokens = :cached_tokens, cost_usd = :cost_usd, model = :model,
    token_times = :token_times
WHERE id = :run AND ended_at_ms IS NULL;

-- name: first_counted — the oldest open run, else the next one
SELECT COALESCE((SELECT MIN(id) FROM runs WHERE ended_at_ms IS NULL),
    (SELECT MAX(id) FROM runs) + 1, 1) AS id;

-- name: tokens_since — the tokens of runs from an id on, by worker
SELECT worker_id, SUM(COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)) AS tokens
FROM runs WHERE id >= :first GROUP BY worker_id;

-- name: set_session — the session that an agent reports while it runs
UPDATE runs SET agent = :agent, session = :session WHERE id = :run AND ended_at_ms IS NULL;

-- name: set_paused — since when the agent is stopped; NULL if it runs
UPDATE runs SET paused_at_ms = :paused_at_ms WHERE id = :run;

-- name: open — runs that have not ended, oldest first; `why` is the reason to end an orphan
SELECT id, worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start, host,
    boot_id, pid_ns, started_at_ms, ended_at_ms, paused_at_ms,
    (SELECT why FROM orphans WHERE run_id = runs.id) AS why,
    (SELECT pauses FROM orphans WHERE run_id = runs.id) AS pauses
FROM runs WHERE ended_at_ms IS NULL ORDER BY id;

-- name: latest — the newest run of a worker
SELECT id, worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start, host,
    boot_id, pid_ns, started_at_ms, ended_at_ms, paused_at_ms, reason, log_start_bytes
FROM runs WHERE worker_id = :worker ORDER BY id DESC LIMIT 1;

-- name: result — the newest run of a worker's task, with its end
SELECT id, command, pid, started_at_ms, ended_at_ms, exit_status, reason, outcome, agent, session,
    input_tokens, output_tokens, cost_usd, failure, resets_at_ms, paused_at_ms, cached_tokens, model,
    log_start_bytes
FROM runs WHERE worker_id = :worker AND task_id = :task ORDER BY id DESC LIMIT 1;

-- name: request — the command of the newest run of a worker's task
SELECT request FROM runs WHERE worker_id = :worker AND task_id = :task ORDER BY id DESC LIMIT 1;

-- name: open_act — an open operation on a worker, except its setup
SELECT kind FROM operations
WHERE status = 'open' AND worker_id = :worker AND task_id = :task AND kind <> 'setup'
ORDER BY id LIMIT 1;

-- name: orders — the orders to a worker's supervisor after a position, oldest first
SELECT seq, id, from_agent, payload, payload_ref FROM messages
WHERE to_agent = :worker AND seq > :after AND type = 'cmd' ORDER BY seq LIMIT :limit;

-- name: tally — the runs of a worker's task that answered for its work; the last ones at a limit
SELECT COUNT(*) FILTER (WHERE outcome IN ('handed_in', 'sent_back')) AS rounds,
    COUNT(*) FILTER (
        WHERE failure IN ('rate_limit', 'usage_limit') AND id > (
            SELECT COALESCE(MAX(id), 0) FROM runs
            WHERE worker_id = :worker AND task_id = :task AND outcome <> 'waiting'
        )
    ) AS limits
FROM runs WHERE worker_id = :worker AND task_id = :task;

-- name: of_task — the runs of a task, oldest first
SELECT id, command, pid, started_at_ms, ended_at_ms, exit_status, reason, outcome, agent, session,
    input_tokens, output_tokens, cost_usd, failure, resets_at_ms, paused_at_ms, cached_tokens, model
FROM runs INDEXED BY idx_runs_task WHERE task_id = :task ORDER BY id;

-- name: usage — what the runs of each task, project or kind of agent have used
SELECT
    CASE :by WHEN 'task' THEN runs.task_id WHEN 'project' THEN COALESCE(tasks.project_id, 'default')
        ELSE COALESCE(runs.agent, 'command') END AS name,
    COUNT(*) AS runs, COUNT(*) - COUNT(DISTINCT runs.task_id) AS retries,
    COUNT(*) FILTER (WHERE runs.outcome = 'failed') AS failed,
    SUM(COALESCE(runs.ended_at_ms, :now) - runs.started_at_ms) AS time_ms,
    COALESCE(SUM(runs.input_tokens), 0) AS input_tokens,
    COALESCE(SUM(runs.output_tokens), 0) AS output_tokens,
    COALESCE(SUM(runs.cached_tokens), 0) AS cached_tokens
FROM runs LEFT JOIN tasks ON tasks.id = runs.task_id
WHERE runs.task_id IS NOT NULL GROUP BY 1 ORDER BY time_ms DESC, name;

-- name: spending — the reported cost of runs, and the tokens of runs without one, by agent and model
SELECT
    CASE :by WHEN 'task' THEN runs.task_id WHEN 'project' THEN COALESCE(tasks.project_id, 'default')
        ELSE COALESCE(runs.agent, 'command') END AS name,
    COALESCE(runs.agent, 'command') AS agent, runs.model,
    COALESCE(SUM(runs.input_tokens) FILTER (WHERE runs.cost_usd IS NULL), 0) AS input_tokens,
    COALESCE(SUM(runs.output_tokens) FILTER (WHERE runs.cost_usd IS NULL), 0) AS output_tokens,
    COALESCE(SUM(runs.cached_tokens) FILTER (WHERE runs.cost_usd IS NULL), 0) AS cached_tokens,
    SUM(runs.cost_usd) AS cost_usd
FROM runs LEFT JOIN tasks ON tasks.id = runs.task_id
WHERE runs.task_id IS NOT NULL GROUP BY 1, 2, 3;

-- name: spending_since — the same of runs from an id on, by worker
SELECT worker_id AS name, COALESCE(agent, 'command') AS agent, model,
    COALESCE(SUM(input_tokens) FILTER (WHERE cost_usd IS NULL), 0) AS input_tokens,
    COALESCE(SUM(output_tokens) FILTER (WHERE cost_usd IS NULL), 0) AS output_tokens,
    COALESCE(SUM(cached_tokens) FILTER (WHERE cost_usd IS NULL), 0) AS cached_tokens,
    SUM(cost_usd) AS cost_usd
FROM runs WHERE id >= :first GROUP BY 1, 2, 3;
