-- name: runs — the runs that touch a time, newest first
-- No index has the times. The order of the ids is that of the beginnings, so the inner query walks
-- back from the newest run to the last one before the time. Of the runs before that one, `before`
-- are looked at, and all that are still open.
WITH near (id) AS (
    SELECT id FROM runs WHERE id > :before + COALESCE(
        (SELECT id FROM runs WHERE started_at_ms < :since ORDER BY id DESC LIMIT 1), 0)
    UNION SELECT id FROM runs WHERE ended_at_ms IS NULL
)
SELECT r.id, r.worker_id, r.task_id, COALESCE(t.project_id, 'default') AS project_id,
    COALESCE(r.agent, 'command') AS agent, r.model, r.started_at_ms, r.ended_at_ms, r.outcome,
    r.input_tokens, r.output_tokens, r.cached_tokens, r.cost_usd, r.token_times
FROM near CROSS JOIN runs AS r ON r.id = near.id LEFT JOIN tasks AS t ON t.id = r.task_id
WHERE r.ended_at_ms IS NULL OR r.ended_at_ms >= :since
ORDER BY near.id DESC LIMIT :limit;

-- name: moves — the transitions of workers since a time, newest first
SELECT seq, ts_ms, entity_id AS worker_id, from_state, event, to_state, actor,
    CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.task_id') END AS task_id,
    CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.reason') END IS 'undo' AS is_undo
FROM transitions INDEXED BY idx_transitions_screen
WHERE machine <> 'task' AND machine = 'worker' AND seq > COALESCE((
    SELECT seq FROM transitions INDEXED BY idx_transitions_screen
    WHERE machine <> 'task' AND ts_ms < :since ORDER BY seq DESC LIMIT 1
), 0)
ORDER BY seq DESC LIMIT :limit;
