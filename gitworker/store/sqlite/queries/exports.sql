-- name: position — how far a log file is written, and the boot in which that was recorded
SELECT last_seq, size_bytes, boot_id FROM export_positions WHERE log = :log;

-- name: set_position — record how far a log file is written
INSERT INTO export_positions (log, last_seq, size_bytes, boot_id)
VALUES (:log, :last_seq, :size_bytes, :boot_id)
ON CONFLICT (log) DO UPDATE SET last_seq = excluded.last_seq, size_bytes = excluded.size_bytes,
    boot_id = excluded.boot_id;

-- name: bus_seq — the export position of the bus protocol
SELECT last_seq FROM export_state WHERE id = 1;

-- name: set_bus_seq — move the export position of the bus protocol
UPDATE export_state SET last_seq = :last_seq WHERE id = 1;

-- name: first_seq — the oldest message in the table
SELECT MIN(seq) AS seq FROM messages;

-- name: count_between — the number of messages after one position, up to another
SELECT COUNT(*) AS number FROM messages WHERE seq > :after AND seq <= :until;

-- name: bus_lines — messages after a position as lines of bus.jsonl
-- The line as bytes, its texts cast: a foreign program may have stored bytes or bad UTF-8.
SELECT seq, CAST(json_object(
    'seq', seq, 'id', CAST(id AS TEXT), 'ts_ms', CAST(ts_ms AS INTEGER),
    'from_agent', CAST(from_agent AS TEXT), 'to_agent', CAST(to_agent AS TEXT),
    'type', CAST(type AS TEXT), 'correlation_id', CAST(correlation_id AS TEXT),
    'in_reply_to', CAST(in_reply_to AS TEXT), 'payload', CAST(payload AS TEXT),
    'payload_ref', CAST(payload_ref AS TEXT)
) AS BLOB) AS line
FROM messages WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: untold_workers — workers with transitions that are not in the log file yet
SELECT DISTINCT entity_id FROM transitions
WHERE machine = 'worker' AND seq > COALESCE(
    (SELECT last_seq FROM export_positions WHERE log = :log), 0
);

-- name: transition_lines — log lines of transitions after a position, in order
-- Values of a foreign program that are not objects are skipped.
SELECT transitions.seq AS seq,
    CASE each.type WHEN 'object' THEN CAST(json(each.value) AS BLOB) END AS line
FROM (SELECT seq, lines FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit) AS transitions
LEFT JOIN json_each(
    CASE WHEN json_valid(transitions.lines) THEN transitions.lines ELSE '[]' END
) AS each
ORDER BY transitions.seq, each.key;
