-- name: insert — one transition; the triggers check it and change the entity's state
INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state, actor,
    metadata, lines)
VALUES (:ts_ms, :machine, :entity, :version, :from_state, :event, :to_state, :actor, :metadata,
    :lines);

-- name: last_ts — the time of the newest transition
SELECT COALESCE((SELECT ts_ms FROM transitions ORDER BY seq DESC LIMIT 1), 0) AS ts_ms;

-- name: newest — the newest transitions of every machine, newest first
SELECT seq, ts_ms, machine, entity_id, from_state, event, to_state, actor, metadata
FROM transitions ORDER BY seq DESC LIMIT :limit;

-- name: of_worker — the transition that led a worker to a version of its row
SELECT event, metadata FROM transitions
WHERE machine = 'worker' AND entity_id = :worker AND version = :version;
