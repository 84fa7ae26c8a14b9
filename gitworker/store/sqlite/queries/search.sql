-- name: unindexed — messages after a position with their searchable fields, oldest first
-- Texts are cast, since a foreign program may have stored bytes.
SELECT seq, CAST(from_agent AS TEXT) AS from_agent, CAST(to_agent AS TEXT) AS to_agent,
    CAST(type AS TEXT) AS type, CAST(correlation_id AS TEXT) AS correlation_id,
    CAST(payload AS TEXT) AS payload, CAST(payload_ref AS TEXT) AS payload_ref
FROM messages WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: by_seq — one message by its position
SELECT seq, id, CAST(ts_ms AS INTEGER) AS ts_ms, from_agent, to_agent, type, correlation_id,
    in_reply_to, payload, payload_ref
FROM messages WHERE seq = :seq;

-- name: count_after — the number of messages after a position
SELECT COUNT(*) AS number FROM messages WHERE seq > :after;

-- name: ever_last — the highest position that any message has had
SELECT COALESCE(MAX(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'messages';

-- name: first_seq — the oldest message's position
SELECT MIN(seq) AS seq FROM messages;
