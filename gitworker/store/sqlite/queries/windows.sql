-- name: open — a window that is about to be verified
INSERT INTO windows (base_oid, tip_oid, workers, size, actor, started_at_ms, machine)
VALUES (:base, :tip, :workers, :size, :actor, :now, :machine);

-- name: last_id — the id of the row just inserted
SELECT last_insert_rowid() AS id;

-- name: record_verdicts — the verdicts on a window so far
UPDATE windows SET verdicts = :verdicts WHERE id = :id;

-- name: close — the end of a window; verdicts of NULL leave the recorded ones
UPDATE windows SET outcome = :outcome, landed = :landed, verdicts = COALESCE(:verdicts, verdicts),
    ended_at_ms = :now
WHERE id = :id;

-- name: end_cut_off — close the window of a killed queue; the caller holds its machine's queue lock
UPDATE windows SET outcome = 'cut_off', ended_at_ms = :now
WHERE ended_at_ms IS NULL AND (machine IS :machine OR machine IS NULL);

-- name: offer — let other machines verify prefixes of a window; NULL: no longer
UPDATE windows SET offer = :offer WHERE id = :id;

-- name: offered — the windows that a machine offers to others, oldest first
SELECT id, base_oid, tip_oid, workers, verdicts, size, landed, outcome, actor, started_at_ms,
    ended_at_ms, machine, offer
FROM windows WHERE offer IS NOT NULL ORDER BY id;

-- name: newest — the newest windows, newest first
SELECT id, base_oid, tip_oid, workers, verdicts, size, landed, outcome, actor, started_at_ms,
    ended_at_ms, machine, offer
FROM windows ORDER BY id DESC LIMIT :limit;

-- name: waiting — workers in a state, with the values that order the queue
SELECT workers.worker_id, workers.task_id, workers.state_changed_at_ms,
    COALESCE(tasks.priority, 100) AS priority,
    (SELECT COUNT(*) FROM transitions
        WHERE machine = 'worker' AND entity_id = workers.worker_id
            AND event IN ('verify_failed', 'merge_conflict')
            AND version > COALESCE((
                SELECT MAX(version) FROM transitions
                WHERE machine = 'worker' AND entity_id = workers.worker_id AND event = 'assign'
            ), 0)) AS failures
FROM workers LEFT JOIN tasks ON tasks.id = workers.task_id
WHERE workers.state = :state AND workers.task_id IS NOT NULL;

-- name: dependencies — the landing order of tasks: the tasks that each needs or is stacked on
SELECT task_dependencies.task_id, task_dependencies.depends_on
FROM workers JOIN task_dependencies ON task_dependencies.task_id = workers.task_id
WHERE workers.state = :state
UNION ALL
SELECT stacks.task_id, stacks.parent_task
FROM workers JOIN stacks ON stacks.worker_id = workers.worker_id AND stacks.task_id = workers.task_id
WHERE workers.state = :state;
