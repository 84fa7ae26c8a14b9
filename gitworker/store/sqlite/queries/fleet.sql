-- name: report — extend the lease of a machine, with the heartbeats of its workers
UPDATE machines SET seen_at_ms = :now, lease_until_ms = :lease_until_ms, heartbeats = :heartbeats,
    position = :position, lands = :lands
WHERE id = :machine;

-- name: last_reports — what the other machines with a lease have reported last
SELECT heartbeats, seen_at_ms FROM machines
WHERE id <> :machine AND left_at_ms IS NULL AND lease_until_ms > :now;

-- name: note_return — when this machine reported again after its lease had ended, by the server
INSERT INTO meta (key, value)
SELECT 'fleet_returned', CAST(:now AS TEXT) FROM machines
WHERE id = :machine AND lease_until_ms < :now
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: returned — the time of that
SELECT CAST(value AS INTEGER) AS ms FROM meta WHERE key = 'fleet_returned';

-- name: heartbeats — those of the workers whose worktrees are on a machine
SELECT h.agent_id, h.ts_ms, h.status, h.current_task, h.progress, c.mono_ms, c.boot_id
FROM workers AS w
JOIN heartbeats AS h ON h.agent_id = w.worker_id
LEFT JOIN heartbeat_clocks AS c ON c.agent_id = h.agent_id AND c.ts_ms = h.ts_ms
WHERE w.machine = :machine AND w.worktree IS NOT NULL;

-- name: machines — all machines with the number of workers at each, in the order of their joining
SELECT id, host, version, seen_at_ms, lease_until_ms, left_at_ms, capabilities, lands,
    needs_from,
    (SELECT COUNT(*) FROM workers AS w
        WHERE w.machine = m.id AND w.state NOT IN ('IDLE', 'COMPLETED')) AS workers
FROM machines AS m ORDER BY joined_at_ms, id;

-- name: waiting — whether the outbox has messages
SELECT 1 AS found FROM fleet_outbox LIMIT 1;

-- name: outbox — the oldest messages that were not published yet
SELECT number, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,
    payload_ref
FROM fleet_outbox ORDER BY number LIMIT :limit;

-- name: take — remove a message from the outbox
DELETE FROM fleet_outbox WHERE number = :number;

-- name: send — leave a message for the link; a known id is an idempotent retry
INSERT INTO fleet_outbox (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to,
    payload, payload_ref)
VALUES (:id, :ts_ms, :from_agent, :to_agent, :type, :correlation_id, :in_reply_to, :payload,
    :payload_ref)
ON CONFLICT (id) DO NOTHING;

-- name: set_need — from which message on the agents of a machine may still read
UPDATE machines SET needs_from = :seq WHERE id = :machine;

-- name: lower_need — the same, if it is an earlier one
UPDATE machines SET needs_from = :seq WHERE id = :machine AND needs_from > :seq;

-- name: set_lands — whether a run of a machine lands its work
UPDATE machines SET lands = :lands WHERE id = :machine;

-- name: set_push_failure — why this machine could not push commits; empty once it could
INSERT INTO meta (key, value) VALUES ('fleet_push_failure', :text)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: push_failure — the same, as it is now
SELECT value FROM meta WHERE key = 'fleet_push_failure';

-- name: set_capabilities — what the agents of a machine can use there
UPDATE machines SET capabilities = :capabilities WHERE id = :machine;

-- name: leave — record that a machine has left
UPDATE machines SET left_at_ms = :now, lease_until_ms = :now WHERE id = :machine;

-- name: open_workers — workers of a machine that have a task which has not landed
SELECT worker_id FROM workers
WHERE task_id IS NOT NULL AND state <> 'COMPLETED' AND (:machine IS NULL OR machine IS :machine) ORDER BY worker_id;

-- name: open_tasks — whether any task is open
SELECT id FROM tasks WHERE status NOT IN ('COMPLETED', 'CANCELLED', 'SKIPPED') ORDER BY id LIMIT 20;

-- name: hold_open_tasks — hold every open task, since other machines go on with them
UPDATE tasks SET held = 1 WHERE status NOT IN ('COMPLETED', 'CANCELLED', 'SKIPPED');

-- name: forget_machines — after leaving, every worker is one of this repository
UPDATE workers SET machine = NULL WHERE machine IS NOT NULL;

-- name: forget_pins — after leaving, every agent runs in this repository
UPDATE agents SET machine = NULL WHERE machine IS NOT NULL;

-- name: forget_windows — after leaving, every window is one of this repository, and offered to none
UPDATE windows SET machine = NULL, offer = NULL WHERE machine IS NOT NULL;

-- name: drop_machines — after leaving
DELETE FROM machines;

-- name: count_waiting — the number of messages that the link has to publish
SELECT COUNT(*) AS number FROM fleet_outbox;

-- name: followed — the last transition that this machine has followed
SELECT CAST(value AS INTEGER) AS seq FROM meta WHERE key = 'fleet_followed';

-- name: set_followed — record the last transition that this machine has followed
INSERT INTO meta (key, value) VALUES ('fleet_followed', :seq)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: newest_transition — the position of the last one
SELECT MAX(seq) AS seq FROM transitions;

-- name: changed_workers — the workers with transitions after a position
SELECT DISTINCT entity_id AS worker_id FROM transitions
WHERE machine = 'worker' AND seq > :after ORDER BY entity_id;

-- name: forget_sessions — those of a worker's agents at a task
UPDATE runs SET session = NULL WHERE worker_id = :worker AND task_id IS :task;

-- name: put_off — record a hand-in until the fleet can be reached
INSERT INTO fleet_hand_ins (worker_id, task_id, note, pr_url, created_at_ms)
VALUES (:worker, :task, :note, :pr_url, :now)
ON CONFLICT (worker_id) DO UPDATE SET task_id = excluded.task_id, note = excluded.note,
    pr_url = excluded.pr_url, created_at_ms = excluded.created_at_ms;

-- name: hand_ins — those that wait, oldest first
SELECT worker_id, task_id, note, pr_url, created_at_ms FROM fleet_hand_ins
ORDER BY created_at_ms, worker_id;

-- name: forget_hand_in — one that was made, refused or repeated
DELETE FROM fleet_hand_ins WHERE worker_id = :worker AND created_at_ms = :created_at_ms;
