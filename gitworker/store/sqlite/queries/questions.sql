-- name: insert — a new question, open
INSERT INTO questions (task_id, worker_id, text, options, message_id, asked_at_ms, timeout_ms)
VALUES (:task, :worker, :text, :options, :message, :now, :timeout_ms);

-- name: unanswered — the questions that can be answered, oldest first
SELECT id, task_id, worker_id, text, options, message_id, asked_at_ms, timeout_ms, state,
    answered_at_ms, answer, answered_by
FROM questions INDEXED BY idx_questions_open WHERE state IN ('open', 'late') ORDER BY id;

-- name: of_message — the question that is a message
SELECT id, task_id, worker_id, text, options, message_id, asked_at_ms, timeout_ms, state,
    answered_at_ms, answer, answered_by
FROM questions WHERE message_id = :message;

-- name: repeated — the newest question of a task with these words whose answer is not read yet
SELECT id, task_id, worker_id, text, options, message_id, asked_at_ms, timeout_ms, state,
    answered_at_ms, answer, answered_by
FROM questions AS q
WHERE task_id = :task AND worker_id = :worker AND text = :text AND options = :options
    AND (state = 'open' OR state = 'answered' AND delivered_at_ms IS NULL AND NOT EXISTS (
        SELECT 1 FROM messages AS m JOIN cursors AS c ON c.agent_id = q.worker_id
        WHERE m.id = q.answer_id AND m.seq <= CAST(c.last_acked_seq AS INTEGER)))
ORDER BY id DESC LIMIT 1;

-- name: of_task — the answers to the questions of a task, oldest first
SELECT text, answer FROM questions WHERE task_id = :task AND state = 'answered' ORDER BY id;

-- name: due — open questions whose time is over, and unanswered ones with an answer on the bus
SELECT id, is_late, reply FROM (
    SELECT q.id AS id, q.state = 'open' AND q.asked_at_ms + q.timeout_ms <= :now AS is_late,
        (SELECT m.id FROM messages AS m
            WHERE m.to_agent = q.worker_id AND m.in_reply_to = q.message_id
                AND m.seq > (SELECT seq FROM messages WHERE id = q.message_id)
            ORDER BY m.seq LIMIT 1) AS reply
    FROM questions AS q INDEXED BY idx_questions_open WHERE q.state IN ('open', 'late')
) AS found WHERE is_late OR reply IS NOT NULL ORDER BY id;

-- name: answer — the answer to a question that has none
UPDATE questions SET state = 'answered', answer = :answer, answered_by = :by,
    answered_at_ms = :now, answer_id = :message
WHERE id = :question AND state IN ('open', 'late');

-- name: expire — no answer has come in time
UPDATE questions SET state = 'late' WHERE id = :question AND state = 'open';

-- name: limit — a time limit, from now, for an open question without one
UPDATE questions SET timeout_ms = :now - asked_at_ms + :timeout_ms
WHERE id = :question AND state = 'open' AND timeout_ms IS NULL;

-- name: deliver — the answer has reached the agent
UPDATE questions SET delivered_at_ms = :now WHERE id = :question AND delivered_at_ms IS NULL;

-- name: withdraw — a question no longer waits for its answer
UPDATE questions SET state = 'withdrawn' WHERE id = :question AND state IN ('open', 'late');
