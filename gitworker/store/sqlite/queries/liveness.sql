-- name: beat — one heartbeat of an agent with its status, task and progress
INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress)
VALUES (:agent, :now, :status, :task, :progress)
ON CONFLICT (agent_id) DO UPDATE SET
    ts_ms = excluded.ts_ms, status = excluded.status, current_task = excluded.current_task,
    progress = excluded.progress;

-- name: touch — one heartbeat that keeps the last status, task and progress
INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress)
VALUES (:agent, :now, :status, :task, NULL)
ON CONFLICT (agent_id) DO UPDATE SET ts_ms = excluded.ts_ms;

-- name: beat_clock — the clock readings of a heartbeat
INSERT INTO heartbeat_clocks (agent_id, ts_ms, mono_ms, boot_id, host)
VALUES (:agent, :now, :mono_ms, :boot_id, :host)
ON CONFLICT (agent_id) DO UPDATE SET
    ts_ms = excluded.ts_ms, mono_ms = excluded.mono_ms, boot_id = excluded.boot_id,
    host = excluded.host;

-- name: all — the last heartbeat of every agent; clock columns only if they belong to it
SELECT CAST(h.agent_id AS TEXT) AS agent_id, CAST(h.ts_ms AS INTEGER) AS ts_ms,
    CAST(h.status AS TEXT) AS status, CAST(h.current_task AS TEXT) AS current_task,
    CASE WHEN typeof(h.progress) IN ('real', 'integer') AND abs(h.progress) < 1e9
        THEN h.progress END AS progress,
    c.mono_ms, c.boot_id, c.host
FROM heartbeats AS h
LEFT JOIN heartbeat_clocks AS c ON c.agent_id = h.agent_id AND c.ts_ms = h.ts_ms;

-- name: of_agent — the last heartbeat of one agent
SELECT CAST(h.agent_id AS TEXT) AS agent_id, CAST(h.ts_ms AS INTEGER) AS ts_ms,
    CAST(h.status AS TEXT) AS status, CAST(h.current_task AS TEXT) AS current_task,
    CASE WHEN typeof(h.progress) IN ('real', 'integer') AND abs(h.progress) < 1e9
        THEN h.progress END AS progress,
    c.mono_ms, c.boot_id, c.host
FROM heartbeats AS h
LEFT JOIN heartbeat_clocks AS c ON c.agent_id = h.agent_id AND c.ts_ms = h.ts_ms
WHERE h.agent_id = :agent;
