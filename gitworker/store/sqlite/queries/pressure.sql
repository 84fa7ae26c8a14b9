-- name: unread — how many messages one agent has been sent and not acknowledged, up to a limit
SELECT COUNT(*) AS number FROM (
    SELECT 1 FROM messages
    WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
    LIMIT :limit
);

-- name: addressees — everybody who was ever sent something that is still on the bus
-- A loose scan of the index on (to_agent, seq): one step for each name.
WITH RECURSIVE names (name) AS (
    SELECT MIN(to_agent) FROM messages WHERE to_agent IS NOT NULL
    UNION ALL
    SELECT (SELECT MIN(to_agent) FROM messages WHERE to_agent > names.name)
    FROM names WHERE names.name IS NOT NULL
)
SELECT CAST(name AS TEXT) AS agent FROM names WHERE name IS NOT NULL;

-- name: nth_newest — when the message was published that so many others have followed
SELECT CAST(ts_ms AS INTEGER) AS ts_ms FROM messages
WHERE seq <= (SELECT MAX(seq) FROM messages) - :number ORDER BY seq DESC LIMIT 1;

-- name: budget — how much a sender could still send, and when that was so
SELECT tokens, at_ms FROM send_budgets WHERE agent_id = :agent;

-- name: set_budget — record how much a sender can still send
INSERT INTO send_budgets (agent_id, tokens, at_ms) VALUES (:agent, :tokens, :now)
ON CONFLICT (agent_id) DO UPDATE SET tokens = excluded.tokens, at_ms = excluded.at_ms;
