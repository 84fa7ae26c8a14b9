-- name: of_message — an agent's failed attempts at a message, and when the next one is due
SELECT attempts, retry_at_ms FROM deliveries WHERE agent_id = :agent AND seq = :seq;

-- name: count — record an attempt and the time of the next one
INSERT INTO deliveries (agent_id, seq, attempts, last_error, retry_at_ms)
VALUES (:agent, :seq, :attempts, :error, :retry_at_ms)
ON CONFLICT (agent_id, seq) DO UPDATE SET
    attempts = excluded.attempts,
    last_error = excluded.last_error,
    retry_at_ms = excluded.retry_at_ms;

-- name: forget — delete the attempts at messages that the cursor passes
DELETE FROM deliveries WHERE agent_id = :agent AND seq <= :seq;

-- name: bury — store a copy of a message as a dead letter
INSERT INTO dead_letters (agent_id, seq, message_id, ts_ms, from_agent, to_agent, type,
    correlation_id, in_reply_to, payload, payload_ref, attempts, error, dead_at_ms)
SELECT :agent, seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
    payload_ref, :attempts, :error, :now
FROM messages WHERE seq = :seq
ON CONFLICT (agent_id, seq) DO NOTHING;

-- name: dead_letters — dead letters, newest first
SELECT agent_id, seq, message_id, from_agent, type, correlation_id, attempts, error, dead_at_ms
FROM dead_letters ORDER BY id DESC LIMIT :limit;

-- name: dead_by_agent — the number of dead letters of each agent
SELECT agent_id, COUNT(*) AS number FROM dead_letters GROUP BY agent_id;
