-- name: set — a hunk that a reviewer has viewed
INSERT INTO review_marks (reviewer, hunk, path, created_at_ms) VALUES (:reviewer, :hunk, :path, :now)
ON CONFLICT (reviewer, hunk) DO NOTHING;

-- name: clear — a hunk that a reviewer has to view again
DELETE FROM review_marks WHERE reviewer = :reviewer AND hunk = :hunk;

-- name: of_reviewer — the hunks among :hunks (a JSON array) that a reviewer has viewed
SELECT m.hunk FROM json_each(:hunks) AS j CROSS JOIN review_marks AS m
    ON m.reviewer = :reviewer AND m.hunk = j.value;

-- name: set_look — the last look of a reviewer, with the version to compare with
INSERT INTO review_looks (reviewer, worker_id, task_id, base_oid, tip_oid, looked_at_ms)
VALUES (:reviewer, :worker, :task, :base, :tip, :now)
ON CONFLICT (reviewer, worker_id, task_id) DO UPDATE SET base_oid = excluded.base_oid,
    tip_oid = excluded.tip_oid, looked_at_ms = excluded.looked_at_ms;

-- name: look — the last look of a reviewer, with the version to compare with
SELECT base_oid, tip_oid, looked_at_ms FROM review_looks
WHERE reviewer = :reviewer AND worker_id = :worker AND task_id = :task;
