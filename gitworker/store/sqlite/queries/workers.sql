-- name: insert — a new seat, IDLE
INSERT INTO workers (worker_id, state_changed_at_ms) VALUES (:worker, :now);

-- name: all — every seat by name
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state
FROM workers ORDER BY worker_id;

-- name: by_id — one seat
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state
FROM workers WHERE worker_id = :worker;

-- name: by_task — the seats that hold or last held a task
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state
FROM workers WHERE task_id = :task ORDER BY state_changed_at_ms DESC;

-- name: by_branch — the seat of a branch
SELECT worker_id, state, version, state_changed_at_ms, task_id, branch, base_oid, worktree,
    admin_dir, assigned_at_ms, pid, pid_start, host, boot_id, pid_ns, stale_from, last_error,
    pr_url, review_state
FROM workers WHERE branch = :branch;

-- name: set_assignment — what a seat was given
UPDATE workers SET task_id = :task, branch = :branch, base_oid = :base_oid, worktree = :worktree,
    admin_dir = :admin_dir, assigned_at_ms = :now, pid = NULL, pid_start = NULL, host = NULL,
    boot_id = NULL, pid_ns = NULL, stale_from = NULL, last_error = NULL, pr_url = NULL, review_state = NULL
WHERE worker_id = :worker;

-- name: clear_assignment — a seat that is free again
UPDATE workers SET task_id = NULL, branch = NULL, base_oid = NULL, worktree = NULL,
    admin_dir = NULL, assigned_at_ms = NULL, pid = NULL, pid_start = NULL, host = NULL,
    boot_id = NULL, pid_ns = NULL, stale_from = NULL, review_state = NULL, pr_url = NULL
WHERE worker_id = :worker;

-- name: set_process — which process works in the seat
UPDATE workers SET pid = :pid, pid_start = :pid_start, host = :host, boot_id = :boot_id,
    pid_ns = :pid_ns
WHERE worker_id = :worker;

-- name: set_error — why the seat failed
UPDATE workers SET last_error = :error WHERE worker_id = :worker;

-- name: set_stale_from — in which state the seat went stale
UPDATE workers SET stale_from = :stale_from WHERE worker_id = :worker;

-- name: set_review — where the review stands
UPDATE workers SET review_state = :review_state WHERE worker_id = :worker;

-- name: set_pr — the pull request's address
UPDATE workers SET pr_url = :pr_url WHERE worker_id = :worker;

-- name: set_worktree — where the worktree is now
UPDATE workers SET worktree = :worktree, admin_dir = :admin_dir WHERE worker_id = :worker;
