-- name: publish — insert one message; a known id is an idempotent retry and changes nothing
INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
    payload_ref)
VALUES (:id, :ts_ms, :from_agent, :to_agent, :type, :correlation_id, :in_reply_to, :payload,
    :payload_ref)
ON CONFLICT (id) DO NOTHING;

-- name: unread — messages to an agent or to all after its cursor, by two indexed ranges merged
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent IS NULL
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
    ORDER BY seq LIMIT :limit
) AS found;

-- name: unread_json — the same with compact payloads, so that no JSON module loads; of a selection
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to,
    CASE WHEN json_valid(payload) THEN json(payload) END AS payload,
    CAST(payload_ref AS TEXT) AS payload_ref,
    payload IS NULL OR json_valid(payload) AS is_json
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent IS NULL AND :mine = 0
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent)
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent)
    ORDER BY seq LIMIT :limit
) AS found;

-- name: first_left_out — the oldest unread message that a selection leaves out
SELECT MIN(seq) AS seq FROM (
    SELECT MIN(seq) AS seq FROM messages WHERE to_agent IS NULL AND :mine = 0
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND NOT (type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent))
    UNION ALL
    SELECT MIN(seq) FROM messages WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND NOT (type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent))
) AS found;

-- name: count_after — the number of messages of a selection after a position, up to a limit
SELECT COUNT(*) AS number FROM (
    SELECT 1 FROM messages WHERE to_agent IS NULL AND :mine = 0 AND seq > :after
        AND type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent)
    UNION ALL
    SELECT 1 FROM messages WHERE to_agent = :agent AND seq > :after
        AND type = COALESCE(:type, type) AND from_agent = COALESCE(:sender, from_agent)
    LIMIT :limit
) AS found;

-- name: follow — every message after a position, to any addressee
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: last_seq — the newest message's position
SELECT COALESCE(MAX(seq), 0) AS seq FROM messages;

-- name: by_id — one message by its id
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages WHERE id = :id;

-- name: by_seq — one message by its position
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages WHERE seq = :seq;

-- name: reply — the first answer to a message after a position, to an agent or to all
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent IS NULL AND seq > :after AND in_reply_to = :id
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent = :agent AND seq > :after
        AND (in_reply_to = :id OR correlation_id = :id)
    ORDER BY seq LIMIT 1
) AS found;

-- name: inbox — unread messages to an agent, and those of others to all about its task
-- A verdict on a former task, one that a later verdict replaced, and an answer that `ask` has
-- printed is left out.
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages AS mine WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND NOT (type = 'cmd' AND seq <= COALESCE((SELECT CAST(last_acked_seq AS INTEGER)
            FROM cursors WHERE agent_id = :agent || '.supervisor'), 0))
        AND NOT (type = 'review_result' AND correlation_id IS NOT NULL
            AND (correlation_id IS NOT :task OR EXISTS (
                SELECT 1 FROM messages AS later
                WHERE later.correlation_id = :task AND later.seq > mine.seq
                    AND later.type = 'review_result' AND later.to_agent = :agent)))
        AND NOT (in_reply_to IS NOT NULL AND EXISTS (SELECT 1 FROM questions AS q
            WHERE q.message_id = mine.in_reply_to AND q.delivered_at_ms IS NOT NULL))
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE correlation_id = :task AND to_agent IS NULL AND from_agent <> :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
        AND type NOT IN (SELECT value FROM json_each(:automatic))
    ORDER BY seq LIMIT :limit
) AS found;

-- name: unanswered — messages to an agent without an answer: the unread ones, and all questions
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages AS m
WHERE to_agent = :agent
    AND (type = 'x-question' OR seq > COALESCE(
        (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0))
    AND NOT EXISTS (SELECT 1 FROM messages AS answer
        WHERE answer.correlation_id = m.id AND answer.seq > m.seq
            AND +answer.to_agent = m.from_agent)
    AND NOT EXISTS (SELECT 1 FROM messages AS answer
        WHERE answer.in_reply_to = m.id AND +answer.seq > m.seq
            AND +answer.to_agent = m.from_agent)
ORDER BY seq LIMIT :limit;

-- name: newest_verdict — the newest hand-in of a task or verdict on it
SELECT seq, CAST(id AS TEXT) AS id, CAST(ts_ms AS INTEGER) AS ts_ms,
    CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(in_reply_to AS TEXT) AS in_reply_to, payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages
WHERE correlation_id = :task
    AND (type = 'review_request' AND from_agent = :worker
        OR type = 'review_result' AND to_agent = :worker)
ORDER BY seq DESC LIMIT 1;

-- name: last_hand_in — the position of a worker's last hand-in of a task
SELECT MAX(seq) AS seq FROM messages
WHERE correlation_id = :task AND type = 'review_request' AND from_agent = :worker;

-- name: newest_progress — the newest progress of a worker's task that may name a commit
SELECT payload FROM messages
WHERE correlation_id = :task AND type = 'task_progress' AND from_agent = :worker
    AND payload LIKE '%"commit"%'
ORDER BY seq DESC LIMIT 1;

-- name: newest_log — the newest log message of a worker's task about an event since a time
SELECT payload FROM messages
WHERE type = 'log' AND from_agent = :worker AND ts_ms >= :since_ms AND correlation_id = :task
    AND CASE WHEN json_valid(payload) THEN json_extract(payload, '$.event') END = :event
ORDER BY ts_ms DESC, seq DESC LIMIT 1;

-- name: is_json — whether a text is valid JSON
SELECT json_valid(:text) AS valid;

-- name: kinds — the JSON types of a payload and of the keys that its type defines
SELECT json_type(:text) AS kind,
    json_type(:text, '$.phase') AS phase,
    json_type(:text, '$.progress') AS progress,
    json_type(:text, '$.level') AS level,
    json_type(:text, '$.message') AS message,
    json_type(:text, '$.signal') AS signal,
    json_type(:text, '$.command') AS command,
    json_type(:text, '$.action') AS action,
    json_type(:text, '$.reason') AS reason;

-- name: words — the values of the keys that may contain certain words only
SELECT json_extract(:text, '$.level') AS level, json_extract(:text, '$.signal') AS signal,
    json_extract(:text, '$.command') AS command, json_extract(:text, '$.action') AS action;

-- name: any_from — whether an agent has published a message
-- No index begins with from_agent: one step for each type, as in observe.messages_of_worker.
WITH RECURSIVE types (type) AS (
    SELECT MIN(type) FROM messages
    UNION ALL
    SELECT (SELECT MIN(m.type) FROM messages AS m WHERE m.type > types.type)
    FROM types WHERE types.type IS NOT NULL
)
SELECT 1 AS found FROM types CROSS JOIN messages AS m
    ON m.type = types.type AND m.from_agent = :agent LIMIT 1;

-- name: cursor — how far an agent has acknowledged
SELECT COALESCE(
    (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0) AS seq;

-- name: ack — move an agent's cursor forward, never back
INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (:agent, :seq, :now)
ON CONFLICT (agent_id) DO UPDATE SET
    last_acked_seq = MAX(CAST(cursors.last_acked_seq AS INTEGER), excluded.last_acked_seq),
    updated_at_ms = excluded.updated_at_ms;

-- name: begin_cursor — the first position of a worker: the end of the bus, or before the first
-- message to it; `updated_at_ms` 0 means that it has never acknowledged anything
INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms)
SELECT :agent, COALESCE((SELECT MIN(seq) - 1 FROM messages WHERE to_agent = :agent),
    (SELECT MAX(seq) FROM messages), 0), 0
WHERE true
ON CONFLICT (agent_id) DO NOTHING;

-- name: totals — the number of messages and the time of the oldest
SELECT COUNT(*) AS messages, COALESCE(MAX(seq), 0) AS last_seq,
    (SELECT CAST(ts_ms AS INTEGER) FROM messages ORDER BY seq LIMIT 1) AS first_ts_ms
FROM messages;

-- name: readers — every known agent, with its cursor and its number of unread messages
SELECT CAST(agent_id AS TEXT) AS agent_id, last_acked_seq, has_read,
    (SELECT COUNT(*) FROM (SELECT 1 FROM messages
        WHERE to_agent IS NULL AND seq > last_acked_seq LIMIT :count_to) AS to_all)
    + (SELECT COUNT(*) FROM (SELECT 1 FROM messages
        WHERE to_agent = agent_id AND seq > last_acked_seq LIMIT :count_to) AS to_it) AS unread,
    (SELECT MIN(ts_ms) FROM (
        SELECT ts_ms FROM (SELECT CAST(ts_ms AS INTEGER) AS ts_ms FROM messages
            WHERE to_agent IS NULL AND seq > last_acked_seq ORDER BY seq LIMIT 1) AS to_all
        UNION ALL
        SELECT ts_ms FROM (SELECT CAST(ts_ms AS INTEGER) AS ts_ms FROM messages
            WHERE to_agent = agent_id AND seq > last_acked_seq ORDER BY seq LIMIT 1) AS to_it
    ) AS unread) AS oldest_ts_ms
FROM (
    SELECT known.agent_id,
        COALESCE(CAST(cursors.last_acked_seq AS INTEGER), 0) AS last_acked_seq,
        COALESCE(CAST(cursors.updated_at_ms AS INTEGER), 0) > 0 AS has_read
    FROM (
        SELECT agent_id FROM cursors UNION SELECT agent_id FROM heartbeats
        UNION SELECT worker_id FROM workers
    ) AS known LEFT JOIN cursors ON cursors.agent_id = known.agent_id
    WHERE known.agent_id IS NOT NULL
) AS readers ORDER BY agent_id;
