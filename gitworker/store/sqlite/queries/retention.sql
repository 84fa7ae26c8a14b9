-- name: window — how many of the next messages up to a floor are old, and where that stretch ends
SELECT COUNT(*) AS seen, MAX(seq) AS last_seq, COALESCE(SUM(old), 0) AS old,
    MIN(CASE WHEN old THEN seq END) AS first_old, MAX(CASE WHEN old THEN seq END) AS last_old
FROM (
    SELECT seq, CAST(ts_ms AS INTEGER) < :cutoff_ms AS old
    FROM messages WHERE seq > :after AND seq < :floor ORDER BY seq LIMIT :limit
);

-- name: old_lines — old messages after a position as lines in the shape of the export
-- As bytes, and its texts cast to texts: a foreign program may have put bytes or bad UTF-8 there.
SELECT seq, CAST(payload_ref AS TEXT) AS payload_ref, CAST(json_object(
    'seq', seq, 'id', CAST(id AS TEXT), 'ts_ms', CAST(ts_ms AS INTEGER),
    'from_agent', CAST(from_agent AS TEXT), 'to_agent', CAST(to_agent AS TEXT),
    'type', CAST(type AS TEXT), 'correlation_id', CAST(correlation_id AS TEXT),
    'in_reply_to', CAST(in_reply_to AS TEXT), 'payload', CAST(payload AS TEXT),
    'payload_ref', CAST(payload_ref AS TEXT)
) AS BLOB) AS line
FROM messages
WHERE seq > :after AND seq <= :until AND CAST(ts_ms AS INTEGER) < :cutoff_ms
ORDER BY seq LIMIT :limit;

-- name: old_dead_letters — dead letters of long ago as lines of an archive
SELECT id, CAST(payload_ref AS TEXT) AS payload_ref, CAST(json_object(
    'dead_letter', id, 'agent_id', CAST(agent_id AS TEXT), 'seq', seq,
    'id', CAST(message_id AS TEXT), 'ts_ms', CAST(ts_ms AS INTEGER),
    'from_agent', CAST(from_agent AS TEXT), 'to_agent', CAST(to_agent AS TEXT),
    'type', CAST(type AS TEXT), 'correlation_id', CAST(correlation_id AS TEXT),
    'in_reply_to', CAST(in_reply_to AS TEXT), 'payload', CAST(payload AS TEXT),
    'payload_ref', CAST(payload_ref AS TEXT), 'attempts', attempts,
    'error', CAST(error AS TEXT), 'dead_at_ms', dead_at_ms
) AS BLOB) AS line
FROM dead_letters WHERE id > :after AND dead_at_ms < :cutoff_ms ORDER BY id LIMIT :limit;

-- name: count_dead_letters — how many dead letters are of long ago
SELECT COUNT(*) AS number FROM dead_letters WHERE dead_at_ms < :cutoff_ms;

-- name: delete_messages — take messages away, by a JSON list of their positions
DELETE FROM messages WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: delete_old — take the next old messages away
DELETE FROM messages WHERE seq IN (
    SELECT seq FROM messages
    WHERE seq <= :until AND CAST(ts_ms AS INTEGER) < :cutoff_ms ORDER BY seq LIMIT :limit
);

-- name: delete_dead_letters — take dead letters away, by a JSON list of their ids
DELETE FROM dead_letters WHERE id IN (SELECT value FROM json_each(:ids));

-- name: delete_old_dead_letters — take the dead letters of long ago away
DELETE FROM dead_letters WHERE dead_at_ms < :cutoff_ms;

-- name: delete_stray_deliveries — forget failed attempts at messages that are gone
DELETE FROM deliveries WHERE NOT EXISTS (SELECT 1 FROM messages WHERE seq = deliveries.seq);

-- name: delete_old_rewrites — forget replays of long ago of branches that no worker has
DELETE FROM own_rewrites
WHERE ts_ms < :cutoff_ms
    AND NOT EXISTS (SELECT 1 FROM workers WHERE 'refs/heads/' || branch = own_rewrites.ref);

-- name: delete_old_budgets — forget senders that have sent nothing for long
DELETE FROM send_budgets WHERE at_ms < :cutoff_ms;

-- name: delete_old_runs — forget supervised runs of long ago, all but each worker's last
DELETE FROM runs
WHERE ended_at_ms < :cutoff_ms AND id NOT IN (SELECT MAX(id) FROM runs GROUP BY worker_id);

-- name: cursors — how far each agent that has ever acknowledged is, and when it last did
SELECT CAST(agent_id AS TEXT) AS agent_id, CAST(last_acked_seq AS INTEGER) AS last_acked_seq,
    CAST(updated_at_ms AS INTEGER) AS updated_at_ms
FROM cursors;

-- name: first_unread — the oldest message that an agent has not acknowledged
SELECT MIN(seq) AS seq FROM (
    SELECT MIN(seq) AS seq FROM messages WHERE to_agent = :agent AND seq > :after
    UNION ALL
    SELECT MIN(seq) FROM messages WHERE to_agent IS NULL AND seq > :after
);

-- name: first_addressed — the oldest message that was sent to an agent alone
SELECT MIN(seq) AS seq FROM messages WHERE to_agent = :agent;

-- name: begin_archive — journal an archive before its file is begun
INSERT INTO archives (step, created_at_ms) VALUES ('writing', :now);

-- name: newest_archive — the archive that was journalled last
SELECT MAX(id) AS id FROM archives;

-- name: archive_written — journal that an archive's content is on disk, under which name
UPDATE archives SET step = 'written', file = :file, lines = :lines WHERE id = :id;

-- name: archive_done — journal that what an archive holds is gone from the tables and the log
UPDATE archives SET step = 'done' WHERE id = :id;

-- name: drop_archive — take back an archive that was never finished
DELETE FROM archives WHERE id = :id;

-- name: open_archives — archives that a killed run has left, oldest first
SELECT id, file, lines, step = 'written' AND file = '' AS unarchived
FROM archives WHERE step <> 'done' ORDER BY id;

-- name: blob_refs — the blobs that a stretch of messages refers to
SELECT DISTINCT CAST(payload_ref AS TEXT) AS ref
FROM (SELECT payload_ref FROM messages WHERE seq > :after AND seq <= :until)
WHERE payload_ref IS NOT NULL;

-- name: dead_blob_refs — the blobs that dead letters refer to
SELECT DISTINCT CAST(payload_ref AS TEXT) AS ref FROM dead_letters WHERE payload_ref IS NOT NULL;

-- name: free_pages — how many pages of the file hold nothing
PRAGMA freelist_count;

-- name: page_size — the size of a page in bytes
PRAGMA page_size;

-- name: vacuum_step — give some free pages back to the file system
PRAGMA incremental_vacuum(200);

-- name: last_upkeep — when upkeep was last begun
SELECT CAST(value AS INTEGER) AS ts_ms FROM meta WHERE key = 'gitworker_upkeep_ms';

-- name: first_upkeep — note that upkeep counts from now on
INSERT OR IGNORE INTO meta (key, value) VALUES ('gitworker_upkeep_ms', CAST(:now AS TEXT));

-- name: claim_upkeep — begin upkeep, unless another process was faster
UPDATE meta SET value = CAST(:now AS TEXT)
WHERE key = 'gitworker_upkeep_ms' AND CAST(value AS INTEGER) = :seen;
