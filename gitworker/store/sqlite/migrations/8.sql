-- Schema 8: reviews as data: the rounds of a review, its comments, and the marks of a reviewer.
-- A workstream can also be cancelled while it validates, and after its landing was undone. The
-- landings on a target have an index, and so have the kinds of READY tasks.

-- One hand-in each. `commits` is a JSON array of [commit, patch id, author, message], oldest first.
CREATE TABLE review_rounds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    base_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    commits TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
);
-- for: rounds.of_task, rounds.newest, and review_rounds_insert
CREATE INDEX idx_review_rounds_task ON review_rounds(worker_id, task_id, number);
CREATE TRIGGER review_rounds_insert BEFORE INSERT ON review_rounds BEGIN
    SELECT RAISE(ABORT, 'gitworker: the round exists already') WHERE EXISTS (
        SELECT 1 FROM review_rounds WHERE id = NEW.id
            OR worker_id = NEW.worker_id AND task_id = NEW.task_id AND number = NEW.number
    );
END;
CREATE TRIGGER review_rounds_update BEFORE UPDATE ON review_rounds BEGIN
    SELECT RAISE(ABORT, 'gitworker: a round does not change');
END;
CREATE TRIGGER review_rounds_delete BEFORE DELETE ON review_rounds BEGIN
    SELECT RAISE(ABORT, 'gitworker: rounds are not deleted');
END;

-- Comments on a round. `id` is the number that people use. `identity` owns the draft, `reviewer` is
-- its name for people. `path` is a JSON text, since a path can
-- have any bytes; it is NULL for a comment on the round as a whole. `quoted` is a JSON array of the
-- lines. `message_id` is the message that published it last, `answer` the author's, `reply` the
-- words with which `reopened_by` opened it again; no message has published them yet if
-- `message_id` is NULL then.
CREATE TABLE review_comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    identity TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    path TEXT,
    side TEXT NOT NULL DEFAULT 'new' CHECK (side IN ('old', 'new')),
    first_line INTEGER,
    last_line INTEGER,
    quoted TEXT NOT NULL DEFAULT '[]',
    text TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'draft',
    version INTEGER NOT NULL DEFAULT 0,
    state_changed_at_ms INTEGER NOT NULL,
    message_id TEXT,
    handled_commit TEXT,
    answer TEXT NOT NULL DEFAULT '',
    reply TEXT NOT NULL DEFAULT '',
    reopened_by TEXT,
    CHECK ((path IS NULL) = (first_line IS NULL)),
    CHECK ((path IS NULL) = (last_line IS NULL))
);
-- for: comments.of_task, comments.drafts
CREATE INDEX idx_review_comments_task ON review_comments(worker_id, task_id, id);
CREATE TRIGGER review_comments_insert BEFORE INSERT ON review_comments BEGIN
    SELECT RAISE(ABORT, 'gitworker: the comment exists already')
    WHERE EXISTS (SELECT 1 FROM review_comments WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'gitworker: a comment begins as a draft at version 0')
    WHERE NEW.state IS NOT 'draft' OR NEW.version IS NOT 0;
END;
CREATE TRIGGER review_comments_update BEFORE UPDATE ON review_comments BEGIN
    SELECT RAISE(ABORT, 'gitworker: a comment keeps its id and its place')
    WHERE NEW.id IS NOT OLD.id OR NEW.worker_id IS NOT OLD.worker_id
        OR NEW.task_id IS NOT OLD.task_id OR NEW.round IS NOT OLD.round
        OR NEW.identity IS NOT OLD.identity OR NEW.reviewer IS NOT OLD.reviewer
        OR NEW.path IS NOT OLD.path
        OR NEW.side IS NOT OLD.side OR NEW.first_line IS NOT OLD.first_line
        OR NEW.last_line IS NOT OLD.last_line OR NEW.quoted IS NOT OLD.quoted;
    SELECT RAISE(ABORT, 'gitworker: a comment that was sent keeps its words')
    WHERE NEW.text IS NOT OLD.text AND OLD.state IS NOT 'draft';
    SELECT RAISE(ABORT, 'gitworker: a state changes by a row in transitions')
    WHERE (NEW.state IS NOT OLD.state OR NEW.version IS NOT OLD.version) AND NOT EXISTS (
        SELECT 1 FROM transitions
        WHERE machine = 'comment' AND entity_id = CAST(OLD.id AS TEXT)
            AND version = OLD.version + 1 AND NEW.version = OLD.version + 1
            AND from_state = OLD.state AND to_state = NEW.state
    );
END;
CREATE TRIGGER review_comments_delete BEFORE DELETE ON review_comments BEGIN
    SELECT RAISE(ABORT, 'gitworker: a comment that was sent is not deleted')
    WHERE OLD.state IS NOT 'draft';
END;

-- The hunks that a reviewer, an identity, has viewed. `hunk` identifies the text of a hunk with its path.
CREATE TABLE review_marks (
    reviewer TEXT NOT NULL,
    hunk TEXT NOT NULL,
    path TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (reviewer, hunk)
) WITHOUT ROWID;

-- The version of a worker's branch that a reviewer, an identity, has seen last.
CREATE TABLE review_looks (
    reviewer TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    base_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    looked_at_ms INTEGER NOT NULL,
    PRIMARY KEY (reviewer, worker_id, task_id)
) WITHOUT ROWID;

-- for: landings.on_target
CREATE INDEX idx_landings_target ON landings(target_ref, id) WHERE undone_at_ms IS NULL;

-- for: task_queue.ready_kinds, task_queue.ready_of_kind. A kind is the agent that a task names, and
-- the capabilities that it requires.
CREATE INDEX idx_tasks_ready_of_kind ON tasks(
    project_id, (IFNULL(agent, '') || ' ' || capabilities), priority, created_at_ms, position, id
) WHERE status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1);

DROP TRIGGER IF EXISTS legal_no_insert;
INSERT OR IGNORE INTO legal_transitions (machine, from_state, event, to_state) VALUES
    ('comment', 'draft', 'send', 'sent'),
    ('comment', 'sent', 'handle', 'handled'),
    ('comment', 'sent', 'resolve', 'resolved'),
    ('comment', 'handled', 'resolve', 'resolved'),
    ('comment', 'handled', 'reopen', 'reopened'),
    ('comment', 'resolved', 'reopen', 'reopened'),
    ('comment', 'reopened', 'handle', 'handled'),
    ('comment', 'reopened', 'resolve', 'resolved'),
    ('workstream', 'validating', 'user_cancelled', 'cancelled'),
    ('workstream', 'completed', 'user_cancelled', 'cancelled');
CREATE TRIGGER legal_no_insert BEFORE INSERT ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END;

DROP TRIGGER transitions_check;
CREATE TRIGGER transitions_check BEFORE INSERT ON transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the transition log is append-only')
    WHERE EXISTS (SELECT 1 FROM transitions WHERE seq = NEW.seq);
    SELECT RAISE(ABORT, 'gitworker: illegal transition')
    WHERE NOT EXISTS (
        SELECT 1 FROM legal_transitions
        WHERE machine = NEW.machine AND from_state = NEW.from_state
            AND event = NEW.event AND to_state = NEW.to_state
    );
    SELECT RAISE(ABORT, 'gitworker: conflict')
    WHERE NEW.version IS NOT 1 + CASE NEW.machine
        WHEN 'worker' THEN (
            SELECT version FROM workers WHERE worker_id = NEW.entity_id AND state = NEW.from_state
        )
        WHEN 'task' THEN (
            SELECT version FROM tasks WHERE id = NEW.entity_id AND status = NEW.from_state
        )
        WHEN 'workstream' THEN (
            SELECT version FROM workstreams WHERE id = NEW.entity_id AND state = NEW.from_state
        )
        WHEN 'agent' THEN (
            SELECT version FROM agents WHERE id = NEW.entity_id AND state = NEW.from_state
        )
        WHEN 'comment' THEN (
            SELECT version FROM review_comments
            WHERE id = CAST(NEW.entity_id AS INTEGER) AND state = NEW.from_state
                AND CAST(id AS TEXT) = NEW.entity_id
        )
    END;
END;
CREATE TRIGGER transitions_apply_comment AFTER INSERT ON transitions
WHEN NEW.machine = 'comment' BEGIN
    UPDATE review_comments SET state = NEW.to_state, version = NEW.version,
        state_changed_at_ms = NEW.ts_ms
    WHERE id = CAST(NEW.entity_id AS INTEGER);
END;
