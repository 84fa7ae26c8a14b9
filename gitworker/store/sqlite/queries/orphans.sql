-- name: of_run — the steps taken so far for an agent that has lost its supervisor
SELECT run_id, after_seq, why, kill_at_mono_ms FROM orphans WHERE run_id = :run;

-- name: claim — begin to attend to an orphan; changes no row if another process has begun
INSERT INTO orphans (run_id, after_seq) VALUES (:run, :after) ON CONFLICT (run_id) DO NOTHING;

-- name: began_at — the position of the message that published the beginning of a run
SELECT seq FROM messages
WHERE type = 'agent_started' AND from_agent = :worker AND ts_ms = :started_at_ms
    AND CASE WHEN json_valid(payload) THEN json_extract(payload, '$.run') END = :run
ORDER BY seq LIMIT 1;

-- name: pass_order — take an order; changes no row if another process has carried it out
UPDATE orphans SET after_seq = :seq WHERE run_id = :run AND after_seq < :seq;

-- name: stop — record why an agent is to end and when it is killed; the first reason stays
UPDATE orphans SET why = :why, kill_at_mono_ms = :kill_at_mono_ms, pauses = :pauses
WHERE run_id = :run AND why = '';

-- name: put_off_kill — take a due kill, and record when the next one is due
UPDATE orphans SET kill_at_mono_ms = :again WHERE run_id = :run AND kill_at_mono_ms <= :now;

-- name: forget — delete the record of an orphan
DELETE FROM orphans WHERE run_id = :run;
