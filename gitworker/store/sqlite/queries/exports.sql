-- name: position — how far a log file is written
SELECT last_seq, size_bytes FROM export_positions WHERE log = :log;

-- name: set_position — record how far a log file is written
INSERT INTO export_positions (log, last_seq, size_bytes) VALUES (:log, :last_seq, :size_bytes)
ON CONFLICT (log) DO UPDATE SET last_seq = excluded.last_seq, size_bytes = excluded.size_bytes;

-- name: bus_seq — seed 2's own export position
SELECT last_seq FROM export_state WHERE id = 1;

-- name: set_bus_seq — move seed 2's export position
UPDATE export_state SET last_seq = :last_seq WHERE id = 1;

-- name: bus_lines — messages after a position as lines in the shape of seed 2's export
SELECT seq, json_object(
    'seq', seq, 'id', id, 'ts_ms', ts_ms, 'from_agent', from_agent, 'to_agent', to_agent,
    'type', type, 'correlation_id', correlation_id, 'in_reply_to', in_reply_to,
    'payload', payload, 'payload_ref', payload_ref
) AS line
FROM messages WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: untold_workers — workers whose transitions are not in the log file yet
SELECT DISTINCT entity_id FROM transitions
WHERE machine = 'worker' AND seq > COALESCE(
    (SELECT last_seq FROM export_positions WHERE log = :log), 0
);

-- name: transition_lines — log lines of transitions after a position, in order
SELECT transitions.seq AS seq, json(each.value) AS line
FROM (SELECT seq, lines FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit) AS transitions
LEFT JOIN json_each(transitions.lines) AS each
ORDER BY transitions.seq, each.key;
