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

-- name: ever_last — the highest position that any message has had
SELECT COALESCE(MAX(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'messages';

-- name: untold_workers — workers with transitions that are not in the log file yet
SELECT DISTINCT entity_id FROM transitions
WHERE machine = 'worker' AND seq > COALESCE(
    (SELECT last_seq FROM export_positions WHERE log = :log), 0
);

-- name: transition_lines — log lines of transitions after a position, in order
SELECT seq, lines FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit;
