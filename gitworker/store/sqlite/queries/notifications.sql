-- name: begin — an event whose sending begins, unless a target has got it
INSERT INTO notifications (key, event, title, begun_at_ms)
VALUES (:key, :event, :title, :now)
ON CONFLICT (key) DO UPDATE SET begun_at_ms = :now, ended_at_ms = NULL, error = NULL
WHERE notifications.error IS NOT NULL AND notifications.missed BETWEEN 1 AND :most - 1;

-- name: end — an event was sent, or could not be
UPDATE notifications SET ended_at_ms = :now, error = :error,
    missed = CASE WHEN :missed THEN missed + 1 ELSE 0 END
WHERE key = :key;

-- name: break_off — events whose sending a killed job has begun
UPDATE notifications SET ended_at_ms = :now, error = :error WHERE ended_at_ms IS NULL;

-- name: by_key — an event that is sent or being sent, and need not be sent again
SELECT 1 AS known FROM notifications
WHERE key = :key AND NOT (error IS NOT NULL AND missed BETWEEN 1 AND :most - 1);

-- name: newest — the events that were sent last, the newest first
SELECT event, title, begun_at_ms, ended_at_ms, error
FROM notifications INDEXED BY idx_notifications_begun ORDER BY begun_at_ms DESC LIMIT :limit;
