-- name: insert — the next round of a worker's task
INSERT INTO review_rounds (worker_id, task_id, number, base_oid, tip_oid, commits, created_at_ms)
VALUES (:worker, :task, 1 + COALESCE((
    SELECT MAX(number) FROM review_rounds WHERE worker_id = :worker AND task_id = :task
), 0), :base, :tip, :commits, :now);

-- name: of_task — the rounds of a worker's task, oldest first
SELECT number, base_oid, tip_oid, commits, created_at_ms FROM review_rounds
WHERE worker_id = :worker AND task_id = :task ORDER BY number;

-- name: newest — the last round of a worker's task
SELECT number, base_oid, tip_oid, commits, created_at_ms FROM review_rounds
WHERE worker_id = :worker AND task_id = :task ORDER BY number DESC LIMIT 1;
