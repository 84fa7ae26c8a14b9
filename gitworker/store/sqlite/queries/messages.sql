-- name: publish — insert one message; a known id is an idempotent retry and changes nothing
INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
    payload_ref)
VALUES (:id, :ts_ms, :from_agent, :to_agent, :type, :correlation_id, :in_reply_to, :payload,
    :payload_ref)
ON CONFLICT (id) DO NOTHING;

-- name: poll — unread messages to an agent or to all, oldest first, by two indexed ranges merged
SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent IS NULL AND seq > :after
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent = :agent AND seq > :after
    ORDER BY seq LIMIT :limit
);

-- name: poll_lines — the same as ready JSON lines (seed 2's shape), so that no JSON module loads
SELECT seq, payload_ref, json_object(
    'seq', seq,
    'id', id,
    'ts', strftime('%Y-%m-%dT%H:%M:%S', ts_ms / 1000, 'unixepoch') || printf('.%03dZ', ts_ms % 1000),
    'from', from_agent,
    'to', to_agent,
    'type', type,
    'correlation_id', correlation_id,
    'in_reply_to', in_reply_to,
    'payload', CASE WHEN json_valid(payload) THEN json(payload) END,
    'payload_ref', payload_ref,
    'payload_error', CASE WHEN payload IS NOT NULL AND NOT json_valid(payload)
        THEN 'decode_failed' END
) AS line
FROM (
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent IS NULL AND seq > :after
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
        payload_ref
    FROM messages WHERE to_agent = :agent AND seq > :after
    ORDER BY seq LIMIT :limit
);

-- name: follow — every message after a position, whoever it is for
SELECT seq, id, CAST(ts_ms AS INTEGER) AS ts_ms, from_agent, to_agent, type, correlation_id,
    in_reply_to, payload, payload_ref
FROM messages WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: last_seq — the newest message's position
SELECT COALESCE(MAX(seq), 0) AS seq FROM messages;

-- name: of_task — the newest messages of one task, newest first
SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
FROM messages WHERE correlation_id = :correlation_id ORDER BY seq DESC LIMIT :limit;

-- name: by_id — one message by its id
SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
FROM messages WHERE id = :id;

-- name: is_json — whether a text is JSON
SELECT json_valid(:text) AS valid;

-- name: cursor — how far an agent has acknowledged
SELECT COALESCE((SELECT last_acked_seq FROM cursors WHERE agent_id = :agent), 0) AS seq;

-- name: ack — move an agent's cursor forward, never back
INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (:agent, :seq, :now)
ON CONFLICT (agent_id) DO UPDATE SET
    last_acked_seq = MAX(cursors.last_acked_seq, excluded.last_acked_seq),
    updated_at_ms = excluded.updated_at_ms;
