-- name: insert — a new worker, IDLE
INSERT INTO workers (worker_id, state_changed_at_ms) VALUES (:worker, :now);

-- name: all — every worker by name
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state, returned_by, returned_tip, returned_detail, waits_for_author,
    (SELECT s.branch FROM tasks AS t JOIN workstreams AS s ON s.id = t.workstream_id
        WHERE t.id = workers.task_id AND s.landed_oid IS NULL) AS lands_on,
    NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
FROM workers ORDER BY worker_id;

-- name: by_id — one worker
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state, returned_by, returned_tip, returned_detail, waits_for_author,
    (SELECT s.branch FROM tasks AS t JOIN workstreams AS s ON s.id = t.workstream_id
        WHERE t.id = workers.task_id AND s.landed_oid IS NULL) AS lands_on,
    NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
FROM workers WHERE worker_id = :worker;

-- name: is_interrupted — whether a worker is stale, has failed or waits for its author
SELECT state IN ('STALE', 'FAILED') OR waits_for_author = 1 AS interrupted
FROM workers WHERE worker_id = :worker;

-- name: by_task — the workers that hold or last held a task
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state, returned_by, returned_tip, returned_detail, waits_for_author,
    (SELECT s.branch FROM tasks AS t JOIN workstreams AS s ON s.id = t.workstream_id
        WHERE t.id = workers.task_id AND s.landed_oid IS NULL) AS lands_on,
    NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
FROM workers WHERE task_id = :task ORDER BY state_changed_at_ms DESC;

-- name: by_branch — the worker of a branch
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state, returned_by, returned_tip, returned_detail, waits_for_author,
    (SELECT s.branch FROM tasks AS t JOIN workstreams AS s ON s.id = t.workstream_id
        WHERE t.id = workers.task_id AND s.landed_oid IS NULL) AS lands_on,
    NULLIF(machine, (SELECT value FROM meta WHERE key = 'fleet_machine')) AS elsewhere
FROM workers WHERE branch = :branch;

-- name: set_assignment — the task, branch and worktree of a worker
UPDATE workers SET task_id = :task, branch = :branch, base_oid = :base_oid, worktree = :worktree,
    admin_dir = :admin_dir, assigned_at_ms = :now, pid = NULL, pid_start = NULL, host = NULL,
    boot_id = NULL, pid_ns = NULL, stale_from = NULL, last_error = NULL,
    pr_url = (SELECT pr_url FROM tasks WHERE id = :task), review_state = NULL, returned_by = NULL, returned_tip = NULL, returned_detail = NULL,
    waits_for_author = 0
WHERE worker_id = :worker;

-- name: clear_assignment — a worker that is free again
UPDATE workers SET task_id = NULL, branch = NULL, base_oid = NULL, worktree = NULL,
    admin_dir = NULL, assigned_at_ms = NULL, pid = NULL, pid_start = NULL, host = NULL,
    boot_id = NULL, pid_ns = NULL, stale_from = NULL, last_error = NULL, pr_url = NULL,
    review_state = NULL, returned_by = NULL, returned_tip = NULL, returned_detail = NULL,
    waits_for_author = 0
WHERE worker_id = :worker;

-- name: set_process — the process of a worker
UPDATE workers SET pid = :pid, pid_start = :pid_start, host = :host, boot_id = :boot_id,
    pid_ns = :pid_ns
WHERE worker_id = :worker;

-- name: set_error — the reason of a worker's failure
UPDATE workers SET last_error = :error WHERE worker_id = :worker;

-- name: set_stale_from — the state before STALE
UPDATE workers SET stale_from = :stale_from WHERE worker_id = :worker;

-- name: set_review — the state of the review
UPDATE workers SET review_state = :review_state WHERE worker_id = :worker;

-- name: set_pr — the pull request's address
UPDATE workers SET pr_url = :pr_url WHERE worker_id = :worker;

-- name: set_worktree — the path of the worktree
UPDATE workers SET worktree = :worktree, admin_dir = :admin_dir WHERE worker_id = :worker;

-- name: set_returned — the reason for which the work was sent back; it waits for its author
UPDATE workers SET returned_by = :returned_by, returned_tip = :returned_tip,
    returned_detail = :returned_detail, waits_for_author = 1
WHERE worker_id = :worker;

-- name: set_author_back — a process or a command works on the returned branch again
UPDATE workers SET waits_for_author = 0 WHERE worker_id = :worker AND waits_for_author = 1;

-- name: settle_conflict — a rebase has settled the conflict for which work was sent back
UPDATE workers SET returned_detail = json_set(
    CASE WHEN json_valid(returned_detail) THEN returned_detail ELSE '{}' END, '$.is_settled', json('true'))
WHERE worker_id = :worker AND returned_by = 'merge_conflict';

-- name: clear_returned — the work was handed in again, so earlier failures no longer count
UPDATE workers SET returned_by = NULL, returned_tip = NULL, returned_detail = NULL,
    waits_for_author = 0, last_error = NULL
WHERE worker_id = :worker;

-- name: assigned_by — the workers that got their last task from an actor
SELECT w.worker_id FROM workers AS w WHERE (
    SELECT actor FROM transitions
    WHERE machine = 'worker' AND entity_id = w.worker_id AND event = 'assign'
    ORDER BY version DESC LIMIT 1
) = :actor ORDER BY w.worker_id;
