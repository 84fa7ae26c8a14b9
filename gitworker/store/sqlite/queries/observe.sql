-- name: workers — every worker, or :worker, with its task's status and its last heartbeat, by name
SELECT w.worker_id, w.state, w.state_changed_at_ms, w.task_id, w.branch, w.base_oid,
    w.stale_from, w.last_error, t.status AS task_status, CAST(h.ts_ms AS INTEGER) AS beat_ms, c.mono_ms, c.boot_id,
    c.host,
    CASE WHEN (h.current_task IS w.task_id OR h.current_task IS NULL)
        AND typeof(h.progress) IN ('real', 'integer') AND abs(h.progress) < 1e9
        THEN h.progress END AS progress,
    p.worker_id AS parent, w.returned_by, w.returned_tip, w.returned_detail, w.waits_for_author,
    w.worktree, w.admin_dir, t.assigned_agent_id AS task_holder,
    (SELECT branch FROM workstreams WHERE id = t.workstream_id AND landed_oid IS NULL) AS lands_on,
    NULLIF(w.machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere,
    (SELECT MAX(paused_at_ms) FROM runs WHERE worker_id = w.worker_id AND ended_at_ms IS NULL)
        AS paused_at_ms,
    CASE WHEN r.id IS NOT NULL THEN r.request IS NOT NULL END AS can_repeat,
    CASE WHEN r.pid IS w.pid AND (r.ended_at_ms >= w.state_changed_at_ms
        OR r.ended_at_ms IS NOT NULL AND w.state = 'STALE' AND w.stale_from = 'WORKING') THEN r.reason END
        AS agent_end
FROM workers AS w
LEFT JOIN tasks AS t ON t.id = w.task_id
LEFT JOIN runs AS r ON r.id = (
    SELECT MAX(id) FROM runs WHERE worker_id = w.worker_id AND task_id = w.task_id)
LEFT JOIN heartbeats AS h ON h.agent_id = w.worker_id
LEFT JOIN heartbeat_clocks AS c ON c.agent_id = h.agent_id AND c.ts_ms = h.ts_ms
LEFT JOIN stacks AS s ON s.worker_id = w.worker_id AND s.task_id = w.task_id
LEFT JOIN workers AS p ON p.worker_id = s.parent_worker AND p.task_id = s.parent_task
    AND p.state IS NOT 'COMPLETED'
WHERE :worker IS NULL OR w.worker_id = :worker
ORDER BY w.worker_id;

-- name: known_conflicts — the warned pairs that conflict at their present tips, with the files
SELECT w.one_ref, w.other_ref, COALESCE(r.files, v.files) AS files
FROM conflict_warnings AS w
JOIN published_tips AS a ON a.ref = w.one_ref
JOIN published_tips AS b ON b.ref = w.other_ref
LEFT JOIN replay_verdicts AS r ON (r.target_oid = a.oid AND r.tip_oid = b.oid)
    OR (r.target_oid = b.oid AND r.tip_oid = a.oid)
LEFT JOIN merge_verdicts AS v ON (v.one_oid = a.oid AND v.other_oid = b.oid)
    OR (v.one_oid = b.oid AND v.other_oid = a.oid)
WHERE COALESCE(r.files, v.files, '[]') <> '[]' ORDER BY w.one_ref, w.other_ref;

-- name: task_counts — the number of tasks in each status
SELECT status, SUM(number) AS number FROM task_counts WHERE number > 0 GROUP BY status ORDER BY status;

-- name: seat_transitions — the newest transitions, without tasks and comments, newest first
SELECT seq, ts_ms, machine, entity_id, from_state, event, to_state, actor, metadata
FROM transitions INDEXED BY idx_transitions_screen
WHERE machine <> 'task' AND machine <> 'comment' ORDER BY seq DESC LIMIT :limit;

-- name: transitions_of_worker — the newest transitions of a worker and of its task, newest first
SELECT seq, ts_ms, machine, entity_id, from_state, event, to_state, actor, metadata
FROM transitions
WHERE (machine = 'worker' AND entity_id = :worker) OR (machine = 'task' AND entity_id = :task)
ORDER BY seq DESC LIMIT :limit;

-- name: messages — the newest messages, without those that only repeat a transition, newest first
-- Twice the limit is enough: each message that is left out has a transition in its place. Messages
-- of the type :hidden (NULL: no type) do not count.
SELECT m.seq, CAST(m.ts_ms AS INTEGER) AS ts_ms, m.from_agent, m.to_agent, m.type, m.correlation_id, m.payload, m.payload_ref
FROM (
    SELECT seq, ts_ms, from_agent, to_agent, type, correlation_id, payload, payload_ref
    FROM messages WHERE type IS NOT :hidden ORDER BY seq DESC LIMIT 2 * :limit
) AS m
WHERE NOT (m.type = 'state_change' AND EXISTS (
    SELECT 1 FROM transitions AS t
    WHERE t.machine IN ('worker', 'workstream') AND t.ts_ms = m.ts_ms AND t.entity_id =
        CASE WHEN json_valid(m.payload) THEN COALESCE(
            json_extract(m.payload, '$.worker'), json_extract(m.payload, '$.workstream')
        ) END
))
ORDER BY m.seq DESC LIMIT :limit;

-- name: messages_of_worker — the same, only from and to a worker and about its task
-- No index begins with from_agent. So the query steps through the types (a loose index scan) and
-- looks each up with the sender; CROSS JOIN keeps this order. A worker's few messages among
-- millions cost a millisecond.
WITH RECURSIVE types (type) AS (
    SELECT MIN(type) FROM messages
    UNION ALL
    SELECT (SELECT MIN(m.type) FROM messages AS m WHERE m.type > types.type)
    FROM types WHERE types.type IS NOT NULL
), found (seq) AS (
    SELECT m.seq FROM types CROSS JOIN messages AS m
        ON m.type = types.type AND m.from_agent = :worker WHERE types.type IS NOT :hidden
    UNION SELECT seq FROM messages WHERE to_agent = :worker AND type IS NOT :hidden
    UNION SELECT seq FROM messages WHERE correlation_id = :task AND type IS NOT :hidden
    ORDER BY seq DESC LIMIT 2 * :limit
)
SELECT m.seq, CAST(m.ts_ms AS INTEGER) AS ts_ms, m.from_agent, m.to_agent, m.type, m.correlation_id, m.payload, m.payload_ref
FROM found CROSS JOIN messages AS m ON m.seq = found.seq
WHERE NOT (m.type = 'state_change' AND EXISTS (
    SELECT 1 FROM transitions AS t
    WHERE t.machine = 'worker' AND t.entity_id = :worker AND t.ts_ms = m.ts_ms
        AND CASE WHEN json_valid(m.payload) THEN json_extract(m.payload, '$.worker') END = :worker
))
ORDER BY m.seq DESC LIMIT :limit;

-- name: transitions_after — all transitions after a position, in order
SELECT seq, ts_ms, machine, entity_id, from_state, event, to_state, actor, metadata
FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: messages_after — messages after a position; those that only repeat a transition are marked
-- Those are not left out, since the position has to pass them.
SELECT m.seq, CAST(m.ts_ms AS INTEGER) AS ts_ms, m.from_agent, m.to_agent, m.type, m.correlation_id, m.payload, m.payload_ref,
    (m.type = 'state_change' AND EXISTS (
        SELECT 1 FROM transitions AS t
        WHERE t.machine IN ('worker', 'workstream') AND t.ts_ms = m.ts_ms AND t.entity_id =
            CASE WHEN json_valid(m.payload) THEN COALESCE(
                json_extract(m.payload, '$.worker'), json_extract(m.payload, '$.workstream')
            ) END
    )) AS repeats
FROM messages AS m WHERE m.seq > :after ORDER BY m.seq LIMIT :limit;

-- name: positions — the newest transition and the newest message
SELECT (SELECT COALESCE(MAX(seq), 0) FROM transitions) AS transition,
    (SELECT COALESCE(MAX(seq), 0) FROM messages) AS message;

-- name: sqlite_version — the version of the SQLite library
SELECT sqlite_version() AS version;

-- name: schema_version — our schema's version in this file
SELECT value AS version FROM meta WHERE key = 'gitworker_schema';

-- name: journal_mode — the journal mode of the database
PRAGMA journal_mode;

-- name: quick_check — SQLite's findings about the file, or one row `ok`
PRAGMA quick_check;

-- name: agents — agents with a heartbeat or a task, each with its worker and open run
SELECT CAST(a.agent_id AS TEXT) AS agent_id, CAST(h.ts_ms AS INTEGER) AS beat_ms,
    CAST(h.status AS TEXT) AS status, c.mono_ms, c.boot_id, c.host,
    CAST(COALESCE(w.task_id, h.current_task) AS TEXT) AS task,
    CASE WHEN (h.current_task IS w.task_id OR w.task_id IS NULL)
        AND typeof(h.progress) IN ('real', 'integer') AND abs(h.progress) < 1e9
        THEN h.progress END AS progress,
    w.state, w.pid, w.pid_start, w.host AS seat_host, w.boot_id AS seat_boot_id,
    w.pid_ns AS seat_pid_ns,
    r.id AS run, r.command, r.paused_at_ms,
    COALESCE(r.started_at_ms, w.state_changed_at_ms) AS since_ms
FROM (SELECT agent_id FROM heartbeats
    UNION SELECT worker_id FROM workers WHERE state IN ('WORKING', 'STALE')) AS a
LEFT JOIN heartbeats AS h ON h.agent_id = a.agent_id
LEFT JOIN heartbeat_clocks AS c ON c.agent_id = h.agent_id AND c.ts_ms = h.ts_ms
LEFT JOIN workers AS w ON w.worker_id = a.agent_id
LEFT JOIN runs AS r ON r.id = (
    SELECT MAX(id) FROM runs WHERE worker_id = a.agent_id AND ended_at_ms IS NULL
)
ORDER BY a.agent_id;

-- name: has_workstreams — whether there is a workstream that is not archived
SELECT EXISTS (SELECT 1 FROM workstreams WHERE archived_at_ms IS NULL) AS found;

-- name: tasks — the tasks in a status, the last change first
SELECT id, title, status_changed_at_ms, assigned_agent_id, retry_count < max_retries AS retries_left,
    held, last_error, project_id
FROM tasks WHERE status = :status AND (:project IS NULL OR project_id = :project)
ORDER BY status_changed_at_ms DESC, id LIMIT :limit;

-- name: has_queue — whether an agent is registered, a project has a budget or a cost, or a task is READY
SELECT EXISTS (SELECT 1 FROM agents WHERE state <> 'SHUTDOWN')
    OR EXISTS (SELECT 1 FROM projects WHERE budget_limit IS NOT NULL)
    OR EXISTS (SELECT 1 FROM project_spending)
    OR EXISTS (SELECT 1 FROM task_counts WHERE status = 'READY' AND number > 0) AS found;
