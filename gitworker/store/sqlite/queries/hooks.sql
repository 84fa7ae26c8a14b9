-- name: facts — everything that an agent's hook decides by, of one worker
SELECT w.state, w.version, w.task_id, w.branch, w.waits_for_author, w.base_oid, w.returned_by,
    w.returned_tip, w.stale_from, w.pid, w.pid_start, w.host, w.boot_id, w.pid_ns,
    w.state IN ('STALE', 'FAILED') OR w.waits_for_author = 1 AS is_interrupted,
    EXISTS (SELECT 1 FROM tasks AS t WHERE t.id = w.task_id AND t.status = 'PAUSED') AS is_paused,
    CAST(h.status AS TEXT) AS status, CAST(h.ts_ms AS INTEGER) AS beat_ms,
    COALESCE((SELECT CAST(last_acked_seq AS INTEGER) FROM cursors
        WHERE agent_id = w.worker_id), 0) AS cursor,
    (SELECT COALESCE(MAX(seq), 0) FROM messages) AS newest,
    a.status AS set_status, COALESCE(a.stops, 0) AS stops, a.reason, COALESCE(a.lost, '') AS lost
FROM workers AS w
LEFT JOIN heartbeats AS h ON h.agent_id = w.worker_id
LEFT JOIN agent_hooks AS a ON a.worker_id = w.worker_id
WHERE w.worker_id = :worker;

-- name: remember — the state of a worker's hooks for their next call
INSERT INTO agent_hooks (worker_id, status, stops, reason, lost)
VALUES (:worker, :status, :stops, :reason, :lost)
ON CONFLICT (worker_id) DO UPDATE SET status = excluded.status, stops = excluded.stops,
    reason = excluded.reason, lost = excluded.lost;
