-- name: insert — a new run, with the process that waits to become the agent
INSERT INTO runs (worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start,
    host, boot_id, pid_ns, started_at_ms)
VALUES (:worker, :task, :command, :supervisor_pid, :supervisor_start, :pid, :pid_start,
    :host, :boot_id, :pid_ns, :now)
RETURNING id;

-- name: end — the end of a run; changes no row if it has ended
UPDATE runs SET ended_at_ms = :now, exit_status = :exit_status, reason = :reason,
    paused_at_ms = NULL
WHERE id = :run AND ended_at_ms IS NULL;

-- name: set_paused — since when the agent is stopped; NULL if it runs
UPDATE runs SET paused_at_ms = :paused_at_ms WHERE id = :run;

-- name: open — runs that have not ended, oldest first; `why` is the reason to end an orphan
SELECT id, worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start, host,
    boot_id, pid_ns, started_at_ms, ended_at_ms, exit_status, reason, paused_at_ms,
    (SELECT why FROM orphans WHERE run_id = runs.id) AS why
FROM runs WHERE ended_at_ms IS NULL ORDER BY id;

-- name: latest — the newest run of a worker
SELECT id, worker_id, task_id, command, supervisor_pid, supervisor_start, pid, pid_start, host,
    boot_id, pid_ns, started_at_ms, ended_at_ms, exit_status, reason, paused_at_ms
FROM runs WHERE worker_id = :worker ORDER BY id DESC LIMIT 1;

-- name: open_act — an open operation on a worker, except its setup
SELECT kind FROM operations
WHERE status = 'open' AND worker_id = :worker AND task_id = :task AND kind <> 'setup'
ORDER BY id LIMIT 1;

-- name: orders — the orders to a worker's supervisor after a position, oldest first
SELECT seq, id, from_agent, payload_ref,
    CASE WHEN json_valid(payload)
        THEN COALESCE(json_extract(payload, '$.command'), json_extract(payload, '$.action'))
    END AS command,
    CASE WHEN json_valid(payload) THEN json_extract(payload, '$.reason') END AS reason
FROM messages
WHERE to_agent = :worker AND seq > :after AND type = 'cmd' ORDER BY seq LIMIT :limit;

-- name: long_order — the same for a payload that is a file
SELECT CASE WHEN json_valid(:text)
        THEN COALESCE(json_extract(:text, '$.command'), json_extract(:text, '$.action'))
    END AS command,
    CASE WHEN json_valid(:text) THEN json_extract(:text, '$.reason') END AS reason;

-- name: publish_started — `agent_started`, with its payload built here so that no JSON module loads
INSERT INTO messages (id, ts_ms, from_agent, type, correlation_id, payload)
VALUES (:id, :now, :worker, 'agent_started', :task,
    json_object('pid', :pid, 'run', :run, 'command', :command));

-- name: publish_log — a `log` message of the supervisor, built here too
INSERT INTO messages (id, ts_ms, from_agent, type, correlation_id, in_reply_to, payload)
VALUES (:id, :now, :worker, 'log', :task, :in_reply_to,
    json_object('level', :level, 'event', :event, 'message', :message));

-- name: may_start_plainly — whether the worker and its task are as `spawn` leaves them
SELECT 1 AS plain FROM workers AS w JOIN tasks AS t ON t.id = w.task_id
WHERE w.worker_id = :worker AND w.state = 'ASSIGNED' AND t.status = 'ASSIGNED'
    AND t.view = 'queued' AND t.assigned_agent_id = w.worker_id AND t.workstream_id IS NULL;

-- name: start_worker — ASSIGNED start→ WORKING, the row that bus.transitions would write
INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state, actor,
    metadata, lines)
SELECT :now, 'worker', worker_id, version + 1, 'ASSIGNED', 'start', 'WORKING', :actor,
    json_object('task_id', task_id, 'actor', :actor, 'pid', :pid),
    json_array(json_object(
        'timestamp', :stamp, 'event_type', 'seat_state_transition', 'severity', 'info',
        'entity_id', worker_id, 'from_state', 'ASSIGNED', 'to_state', 'WORKING',
        'trigger', 'start',
        'metadata', json_object('task_id', task_id, 'actor', :actor, 'pid', :pid)
    ))
FROM workers WHERE worker_id = :worker;

-- name: start_task — ASSIGNED AGENT_STARTED→ IN_PROGRESS, likewise
INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state, actor,
    metadata, lines)
SELECT :now, 'task', id, version + 1, 'ASSIGNED', 'AGENT_STARTED', 'IN_PROGRESS', :actor, '{}',
    json_array(json_object(
        'timestamp', :stamp, 'event_type', 'task_state_transition', 'severity', 'info',
        'entity_id', CASE incarnation WHEN 1 THEN id ELSE id || '#' || incarnation END,
        'from_state', 'queued', 'to_state', 'running', 'trigger', 'worker_started',
        'metadata', json_object(
            'task_id', id, 'status', 'IN_PROGRESS', 'event', 'AGENT_STARTED',
            'retry_count', retry_count, 'max_retries', max_retries,
            'worker_id', assigned_agent_id,
            'critical', CASE critical WHEN 0 THEN json('false') ELSE json('true') END,
            'created_at', strftime('%Y-%m-%dT%H:%M:%S', created_at_ms / 1000, 'unixepoch')
                || printf('.%03dZ', created_at_ms % 1000),
            'started_at', strftime('%Y-%m-%dT%H:%M:%S', started_at_ms / 1000, 'unixepoch')
                || printf('.%03dZ', started_at_ms % 1000)
        )
    ))
FROM tasks WHERE id = :task;

-- name: show_task_running — the lifecycle view of that transition
UPDATE tasks SET view = 'running' WHERE id = :task;

-- name: publish_start — the `state_change` message of that transition
INSERT INTO messages (id, ts_ms, from_agent, type, correlation_id, payload)
VALUES (:id, :now, :actor, 'state_change', :task, json_object(
    'worker', :worker, 'from', 'ASSIGNED', 'to', 'WORKING', 'event', 'start', 'pid', :pid));
