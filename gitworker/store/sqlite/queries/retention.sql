-- Unread messages to hq, or to a worker with a task that has not landed, are never pruned. What a
-- worker on another machine has read is known there only.

-- name: window — how many of the next messages up to a floor are old, and the end of that range
SELECT COUNT(*) FILTER (WHERE old) AS old, MAX(seq) AS last_seq,
    MIN(CASE WHEN old THEN seq END) AS first_old, MAX(CASE WHEN old THEN seq END) AS last_old
FROM (
    SELECT seq, CAST(ts_ms AS INTEGER) < :cutoff_ms AS old
    FROM messages
    WHERE seq > :after AND seq < :floor AND seq NOT IN (
        SELECT kept.seq FROM (
            SELECT worker_id AS agent,
                NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
            FROM workers WHERE task_id IS NOT NULL AND state <> 'COMPLETED'
            UNION ALL SELECT 'hq', NULL
        ) AS waiting
        JOIN messages AS kept ON kept.to_agent = waiting.agent
        LEFT JOIN cursors ON cursors.agent_id = waiting.agent AND waiting.elsewhere IS NULL
        WHERE kept.seq > COALESCE(CAST(cursors.last_acked_seq AS INTEGER), 0)
    )
    ORDER BY seq LIMIT :limit
) AS found;

-- name: old_messages — old messages after a position, oldest first
-- Texts are cast, since a foreign program may have stored bytes.
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, CAST(payload AS TEXT) AS payload,
    CAST(payload_ref AS TEXT) AS payload_ref
FROM messages
WHERE seq > :after AND seq <= :until AND CAST(ts_ms AS INTEGER) < :cutoff_ms
    AND seq NOT IN (
        SELECT kept.seq FROM (
            SELECT worker_id AS agent,
                NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
            FROM workers WHERE task_id IS NOT NULL AND state <> 'COMPLETED'
            UNION ALL SELECT 'hq', NULL
        ) AS waiting
        JOIN messages AS kept ON kept.to_agent = waiting.agent
        LEFT JOIN cursors ON cursors.agent_id = waiting.agent AND waiting.elsewhere IS NULL
        WHERE kept.seq > COALESCE(CAST(cursors.last_acked_seq AS INTEGER), 0)
    )
ORDER BY seq LIMIT :limit;

-- name: old_dead_letters — old dead letters, oldest first
SELECT id, CAST(agent_id AS TEXT) AS agent_id, seq, CAST(message_id AS TEXT) AS message_id,
    CAST(ts_ms AS INTEGER) AS ts_ms, CAST(from_agent AS TEXT) AS from_agent,
    CAST(to_agent AS TEXT) AS to_agent, CAST(type AS TEXT) AS type,
    CAST(correlation_id AS TEXT) AS correlation_id, CAST(in_reply_to AS TEXT) AS in_reply_to,
    CAST(payload AS TEXT) AS payload, CAST(payload_ref AS TEXT) AS payload_ref, attempts,
    CAST(error AS TEXT) AS error, dead_at_ms
FROM dead_letters WHERE id > :after AND dead_at_ms < :cutoff_ms ORDER BY id LIMIT :limit;

-- name: count_dead_letters — the number of old dead letters
SELECT COUNT(*) AS number FROM dead_letters WHERE dead_at_ms < :cutoff_ms;

-- name: delete_messages — delete messages by a JSON list of their positions
DELETE FROM messages WHERE seq IN (SELECT CAST(value AS INTEGER) FROM json_each(:seqs));

-- name: delete_old — delete the next old messages
DELETE FROM messages WHERE seq IN (
    SELECT seq FROM messages
    WHERE seq <= :until AND CAST(ts_ms AS INTEGER) < :cutoff_ms
        AND seq NOT IN (
            SELECT kept.seq FROM (
                SELECT worker_id AS agent,
                    NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
                FROM workers WHERE task_id IS NOT NULL AND state <> 'COMPLETED'
                UNION ALL SELECT 'hq', NULL
            ) AS waiting
            JOIN messages AS kept ON kept.to_agent = waiting.agent
            LEFT JOIN cursors ON cursors.agent_id = waiting.agent AND waiting.elsewhere IS NULL
            WHERE kept.seq > COALESCE(CAST(cursors.last_acked_seq AS INTEGER), 0)
        )
    ORDER BY seq LIMIT :limit
);

-- name: delete_dead_letters — delete dead letters by a JSON list of their ids
DELETE FROM dead_letters WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(:ids));

-- name: delete_old_dead_letters — delete old dead letters
DELETE FROM dead_letters WHERE dead_at_ms < :cutoff_ms;

-- name: delete_stray_deliveries — delete attempts at messages that no longer exist
DELETE FROM deliveries WHERE NOT EXISTS (SELECT 1 FROM messages WHERE seq = deliveries.seq);

-- name: delete_old_rewrites — delete old replays of branches that no worker has
DELETE FROM own_rewrites
WHERE ts_ms < :cutoff_ms
    AND NOT EXISTS (SELECT 1 FROM workers WHERE 'refs/heads/' || branch = own_rewrites.ref);

-- name: delete_old_budgets — delete the budgets of senders that have been silent for long
DELETE FROM send_budgets WHERE at_ms < :cutoff_ms;

-- name: delete_old_runs — delete old supervised runs, except each worker's last
DELETE FROM runs
WHERE ended_at_ms < :cutoff_ms AND id NOT IN (SELECT MAX(id) FROM runs GROUP BY worker_id);

-- name: cursors — the position and the time of each agent's last acknowledgement
SELECT CAST(agent_id AS TEXT) AS agent_id, CAST(last_acked_seq AS INTEGER) AS last_acked_seq,
    CAST(updated_at_ms AS INTEGER) AS updated_at_ms
FROM cursors;

-- name: first_unread — the oldest message that an agent has not acknowledged
SELECT MIN(seq) AS seq FROM (
    SELECT MIN(seq) AS seq FROM messages WHERE to_agent = :agent AND seq > :after
    UNION ALL
    SELECT MIN(seq) FROM messages WHERE to_agent IS NULL AND seq > :after
) AS found;

-- name: first_addressed — the oldest message that was sent to an agent alone
SELECT MIN(seq) AS seq FROM messages WHERE to_agent = :agent;

-- name: begin_archive — open a journal row before an archive is written
INSERT INTO archives (step, created_at_ms) VALUES ('writing', :now);

-- name: newest_archive — the newest journal row of an archive
SELECT MAX(id) AS id FROM archives;

-- name: archive_written — record that an archive's content is on disk, and its name
UPDATE archives SET step = 'written', file = :file, lines = :lines WHERE id = :id;

-- name: archive_done — record that the rows of an archive are deleted from the tables and the log
UPDATE archives SET step = 'done' WHERE id = :id;

-- name: drop_archive — delete the journal row of an unfinished archive
DELETE FROM archives WHERE id = :id;

-- name: open_archives — archives of killed prunes, oldest first
SELECT id, file, lines, step = 'written' AND file = '' AS unarchived
FROM archives WHERE step <> 'done' ORDER BY id;

-- name: end_of_stretch — the position of the last of the next messages
SELECT MAX(seq) AS seq FROM (
    SELECT seq FROM messages WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :limit
) AS found;

-- name: blob_refs — the blobs that a range of messages refers to
SELECT DISTINCT CAST(payload_ref AS TEXT) AS ref
FROM (SELECT payload_ref FROM messages WHERE seq > :after AND seq <= :until) AS found
WHERE payload_ref IS NOT NULL;

-- name: dead_blob_refs — the blobs that dead letters refer to, and messages that wait for a fleet
SELECT CAST(payload_ref AS TEXT) AS ref FROM dead_letters WHERE payload_ref IS NOT NULL
UNION
SELECT CAST(payload_ref AS TEXT) FROM fleet_outbox WHERE payload_ref IS NOT NULL;

-- name: free_pages — the number of unused pages of the file
PRAGMA freelist_count;

-- name: page_size — the size of a page in bytes
PRAGMA page_size;

-- name: vacuum_step — return some free pages to the file system
PRAGMA incremental_vacuum(200);

-- name: last_upkeep — when the last upkeep began
SELECT CAST(value AS INTEGER) AS ts_ms FROM meta WHERE key = 'gitworker_upkeep_ms';

-- name: first_upkeep — start the clock of upkeep
INSERT INTO meta (key, value) VALUES ('gitworker_upkeep_ms', CAST(:now AS TEXT))
ON CONFLICT DO NOTHING;

-- name: claim_upkeep — begin upkeep, unless another process was faster
UPDATE meta SET value = CAST(:now AS TEXT)
WHERE key = 'gitworker_upkeep_ms' AND CAST(value AS INTEGER) = :seen;

-- name: delete_old_notifications — forget old events, except those that would be sent once more
DELETE FROM notifications
WHERE ended_at_ms < :cutoff_ms AND key NOT IN (
    SELECT 'question:' || message_id FROM questions WHERE state = 'open'
    UNION ALL SELECT 'failure:' || worker_id || ':' || version FROM workers WHERE state = 'FAILED'
    UNION ALL SELECT 'budget:task:' || id || ':' || budget_tokens FROM tasks
    WHERE budget_tokens IS NOT NULL AND tokens_used >= budget_tokens
    UNION ALL SELECT 'budget:project:' || id || ':' || budget_limit FROM projects
    WHERE budget_limit IS NOT NULL AND total_tokens_used >= budget_limit
) AND NOT EXISTS (
    SELECT 1 FROM workers WHERE state = 'IN_REVIEW' AND key LIKE 'review:' || worker_id || ':%'
);
