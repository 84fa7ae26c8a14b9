-- name: open — begin an operation in the journal
INSERT INTO operations (kind, worker_id, task_id, step, data, actor, created_at_ms, updated_at_ms)
VALUES (:kind, :worker, :task, :step, :data, :actor, :now, :now);

-- name: last_id — the id of the row just inserted
SELECT last_insert_rowid() AS id;

-- name: update — the next step of an operation
UPDATE operations SET step = :step, data = :data, updated_at_ms = :now
WHERE id = :id AND status = 'open';

-- name: close — the end of an operation
UPDATE operations SET status = :status, step = :step, data = :data, updated_at_ms = :now
WHERE id = :id;

-- name: unfinished — operations that have begun and not ended
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE status = 'open' ORDER BY id;

-- name: by_id — one operation
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE id = :id;

-- name: newest_done — finished operations that can be undone, newest first
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations
WHERE status = 'done'
    AND kind IN ('approve', 'merge', 'land', 'cancel', 'reset', 'remove', 'gc', 'adopt')
    AND id < :before
ORDER BY id DESC LIMIT :limit;

-- name: last_of_worker — the newest operation on a worker
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE worker_id = :worker AND kind <> 'gc' ORDER BY id DESC LIMIT 1;

-- name: last_removal_of — the newest finished operation that removed a worktree from a place
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE kind IN ('cancel', 'reset', 'remove') AND status = 'done'
    AND json_extract(data, '$.worktree') = :worktree
ORDER BY id DESC LIMIT 1;

-- name: last_on_task — the newest finished operation of one kind on a task
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE kind = :kind AND task_id = :task AND status = 'done'
ORDER BY id DESC LIMIT 1;

-- name: last_of_kind — the newest operation of one kind on a worker's task
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE kind = :kind AND worker_id = :worker AND task_id = :task
ORDER BY id DESC LIMIT 1;

-- name: of_task — every operation on a worker's task, newest first
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE worker_id = :worker AND task_id = :task ORDER BY id DESC;

-- name: of_kind — the operations of one kind from one on, in their order
SELECT id, kind, worker_id, task_id, status, step, data, actor, created_at_ms, updated_at_ms
FROM operations WHERE id >= :first AND kind = :kind ORDER BY id;

-- name: rewrites — old and new commit of the rewrites that are recorded on their own
SELECT old_oid AS old, new_oid AS new FROM own_rewrites;
