-- name: insert — a draft
INSERT INTO review_comments (worker_id, task_id, round, identity, reviewer, path, side, first_line,
    last_line, quoted, text, created_at_ms, state_changed_at_ms)
VALUES (:worker, :task, :round, :identity, :reviewer, :path, :side, :first_line, :last_line,
    :quoted, :text, :now, :now);

-- name: inserted — the comment that this connection inserted last
SELECT last_insert_rowid() AS id;

-- name: by_id — one comment
SELECT id, worker_id, task_id, round, identity, reviewer, path, side, first_line, last_line, quoted,
    text, created_at_ms, state, version, state_changed_at_ms, message_id, handled_commit, answer, reply,
    reopened_by
FROM review_comments WHERE id = :id;

-- name: of_task — the comments on a worker's task, oldest first
SELECT id, worker_id, task_id, round, identity, reviewer, path, side, first_line, last_line, quoted,
    text, created_at_ms, state, version, state_changed_at_ms, message_id, handled_commit, answer, reply,
    reopened_by
FROM review_comments WHERE worker_id = :worker AND task_id = :task ORDER BY id;

-- name: left_drafts — the drafts of an identity on tasks that their worker no longer has
SELECT c.id, c.worker_id, c.task_id, round, identity, reviewer, path, side, first_line, last_line,
    quoted, text, created_at_ms, c.state, c.version, c.state_changed_at_ms, message_id,
    handled_commit, answer, reply, reopened_by
FROM review_comments AS c LEFT JOIN workers AS w ON w.worker_id = c.worker_id
WHERE c.state = 'draft' AND identity = :identity AND w.task_id IS NOT c.task_id ORDER BY c.id;

-- name: set_text — other words of a draft
UPDATE review_comments SET text = :text WHERE id = :id AND state = 'draft';

-- name: drop — delete a draft
DELETE FROM review_comments WHERE id = :id AND state = 'draft';

-- name: set_message — the message that publishes a comment
UPDATE review_comments SET message_id = :message WHERE id = :id;

-- name: set_answer — the commit and the words with which its author handles a comment
UPDATE review_comments SET handled_commit = :commit_oid, answer = :answer WHERE id = :id;

-- name: set_reply — the words with which a comment is reopened, not published yet
UPDATE review_comments SET reply = :reply, reopened_by = :identity, message_id = NULL WHERE id = :id;

-- name: is_read — whether a worker has read the message that published a comment last
SELECT NOT EXISTS (
    SELECT 1 FROM messages AS m WHERE m.id = c.message_id AND m.seq > COALESCE(
        (SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = c.worker_id), 0)
) AS is_read
FROM review_comments AS c WHERE c.id = :id AND c.message_id IS NOT NULL;
