-- name: unread — the number of messages to one agent that it has not acknowledged, up to a limit
SELECT COUNT(*) AS number FROM (
    SELECT 1 FROM messages
    WHERE to_agent = :agent
        AND seq > COALESCE(
            (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)
    LIMIT :limit
) AS found;

-- name: addressees — every addressee of a message on the bus
-- A loose scan of the index on (to_agent, seq): one step per name.
WITH RECURSIVE names (name) AS (
    SELECT MIN(to_agent) FROM messages WHERE to_agent IS NOT NULL
    UNION ALL
    SELECT (SELECT MIN(to_agent) FROM messages WHERE to_agent > names.name)
    FROM names WHERE names.name IS NOT NULL
)
SELECT CAST(name AS TEXT) AS agent FROM names WHERE name IS NOT NULL;

-- name: nth_newest — the time of the message that has this number of newer ones
SELECT CAST(ts_ms AS INTEGER) AS ts_ms FROM messages
WHERE seq <= (SELECT MAX(seq) FROM messages) - :number ORDER BY seq DESC LIMIT 1;

-- name: budget — the tokens of a sender, and when they were counted
SELECT tokens, at_ms FROM send_budgets WHERE agent_id = :agent;

-- name: set_budget — record the tokens of a sender
INSERT INTO send_budgets (agent_id, tokens, at_ms) VALUES (:agent, :tokens, :now)
ON CONFLICT (agent_id) DO UPDATE SET tokens = excluded.tokens, at_ms = excluded.at_ms;
