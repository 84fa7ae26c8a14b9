-- The schema of bus.db at gitworker_schema 1; migrations/ has the later changes. The tables of the
-- bus protocol come first, exactly as its own SQL creates them: they are a public interface. Our
-- additions to their rows are in side tables, so that a program that inserts without column names
-- continues to work. Nothing here needs a SQLite newer than 3.35.

-- ---------------------------------------------------------------- tables of the bus protocol
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    ts_ms INTEGER NOT NULL,
    from_agent TEXT NOT NULL,
    to_agent TEXT,
    type TEXT NOT NULL,
    correlation_id TEXT,
    in_reply_to TEXT,
    payload TEXT,
    payload_ref TEXT,
    CHECK (payload IS NULL OR payload_ref IS NULL)
);
CREATE INDEX IF NOT EXISTS idx_messages_to_seq ON messages(to_agent, seq);
CREATE INDEX IF NOT EXISTS idx_messages_correlation_seq ON messages(correlation_id, seq);
CREATE INDEX IF NOT EXISTS idx_messages_type_from_ts ON messages(type, from_agent, ts_ms);

CREATE TABLE IF NOT EXISTS cursors (
    agent_id TEXT PRIMARY KEY,
    last_acked_seq INTEGER NOT NULL DEFAULT 0,
    updated_at_ms INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS heartbeats (
    agent_id TEXT PRIMARY KEY,
    ts_ms INTEGER NOT NULL,
    status TEXT NOT NULL,
    current_task TEXT,
    progress REAL
);

CREATE TABLE IF NOT EXISTS task_claims (
    task_id TEXT PRIMARY KEY,
    claimed_by TEXT NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '1');

CREATE TABLE IF NOT EXISTS export_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seq INTEGER NOT NULL DEFAULT 0
);
INSERT OR IGNORE INTO export_state (id, last_seq) VALUES (1, 0);

-- ---------------------------------------------------------------- side tables
-- The clock readings of a heartbeat. Valid only while ts_ms equals the heartbeat's: a foreign
-- program writes no clock readings, and then its wall clock counts.
CREATE TABLE heartbeat_clocks (
    agent_id TEXT PRIMARY KEY,
    ts_ms INTEGER NOT NULL,
    mono_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    host TEXT NOT NULL
) WITHOUT ROWID;

-- The fencing epoch of a claimed resource. The bus protocol deletes and re-inserts claims, so the
-- epoch needs a table of its own.
-- (No OR IGNORE in the triggers: the conflict clause of an upsert that fires them would replace it.)
CREATE TABLE claim_epochs (
    task_id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER claims_raise_epoch_on_insert AFTER INSERT ON task_claims BEGIN
    INSERT INTO claim_epochs (task_id, epoch) SELECT NEW.task_id, 0
    WHERE NOT EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id);
    UPDATE claim_epochs SET epoch = epoch + 1 WHERE task_id = NEW.task_id;
END;
CREATE TRIGGER claims_raise_epoch_on_takeover AFTER UPDATE OF claimed_by ON task_claims
WHEN NEW.claimed_by IS NOT OLD.claimed_by BEGIN
    INSERT INTO claim_epochs (task_id, epoch) SELECT NEW.task_id, 0
    WHERE NOT EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id);
    UPDATE claim_epochs SET epoch = epoch + 1 WHERE task_id = NEW.task_id;
END;

-- How far each log file is written: position and size, so that a torn last line is cut off.
CREATE TABLE export_positions (
    log TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL
) WITHOUT ROWID;

-- ---------------------------------------------------------------- state machines
-- The machines' tables, loaded from gitworker.states; triggers refuse changes.
CREATE TABLE legal_transitions (
    machine TEXT NOT NULL,
    from_state TEXT NOT NULL,
    event TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (machine, from_state, event)
) WITHOUT ROWID;

-- Every transition of every machine. Inserting a row here is the only way to change a state: the
-- triggers below refuse a transition that no table allows and copy the state to the entity's row.
CREATE TABLE transitions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ts_ms INTEGER NOT NULL,
    machine TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    from_state TEXT NOT NULL,
    event TEXT NOT NULL,
    to_state TEXT NOT NULL,
    actor TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    lines TEXT NOT NULL DEFAULT '[]',
    CHECK (seq > 0),
    CHECK (typeof(ts_ms) = 'integer')
);
-- for: transitions.of_entity, and the state triggers
CREATE UNIQUE INDEX idx_transitions_entity ON transitions(machine, entity_id, version);

CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY NOT NULL,
    repo_id TEXT NOT NULL DEFAULT 'default',
    state TEXT NOT NULL DEFAULT 'IDLE',
    version INTEGER NOT NULL DEFAULT 0,
    state_changed_at_ms INTEGER NOT NULL,
    task_id TEXT,
    branch TEXT,
    base_oid TEXT,
    worktree TEXT,
    admin_dir TEXT,
    assigned_at_ms INTEGER,
    pid INTEGER,
    pid_start TEXT,
    host TEXT,
    boot_id TEXT,
    stale_from TEXT,
    last_error TEXT,
    pr_url TEXT,
    review_state TEXT
) WITHOUT ROWID;
-- for: workers.by_task
CREATE INDEX idx_workers_task ON workers(task_id);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY NOT NULL,
    repo_id TEXT NOT NULL DEFAULT 'default',
    project_id TEXT NOT NULL DEFAULT 'default',
    title TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    priority INTEGER NOT NULL DEFAULT 100,
    status TEXT NOT NULL DEFAULT 'DEFINED',
    version INTEGER NOT NULL DEFAULT 0,
    status_changed_at_ms INTEGER NOT NULL,
    verification_type TEXT NOT NULL DEFAULT 'AUTO_TEST',
    retry_count INTEGER NOT NULL DEFAULT 0,
    max_retries INTEGER NOT NULL DEFAULT 3,
    recovery_count INTEGER NOT NULL DEFAULT 0,
    parent_task_id TEXT,
    workstream_id TEXT,
    critical INTEGER NOT NULL DEFAULT 1,
    assigned_agent_id TEXT,
    branch_name TEXT,
    resume_after_ms INTEGER,
    requires_approval INTEGER NOT NULL DEFAULT 0,
    pr_url TEXT,
    plan_source TEXT,
    is_plan_subtask INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    incarnation INTEGER NOT NULL DEFAULT 1,
    view TEXT NOT NULL DEFAULT 'pending',
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    completed_at_ms INTEGER,
    CHECK (retry_count <= max_retries)
) WITHOUT ROWID;

CREATE TABLE task_dependencies (
    task_id TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    PRIMARY KEY (task_id, depends_on)
) WITHOUT ROWID;

CREATE TABLE workstreams (
    id TEXT PRIMARY KEY NOT NULL,
    repo_id TEXT NOT NULL DEFAULT 'default',
    name TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'planned',
    version INTEGER NOT NULL DEFAULT 0,
    state_changed_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE agents (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    agent_type TEXT NOT NULL DEFAULT 'command',
    state TEXT NOT NULL DEFAULT 'INITIALIZING',
    version INTEGER NOT NULL DEFAULT 0,
    state_changed_at_ms INTEGER NOT NULL,
    max_concurrent_tasks INTEGER NOT NULL DEFAULT 1,
    current_task_id TEXT,
    checkout_path TEXT,
    repo_id TEXT,
    pid INTEGER,
    last_heartbeat_ms INTEGER,
    total_tokens_used INTEGER NOT NULL DEFAULT 0,
    session_tokens_used INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE projects (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    credit_weight REAL NOT NULL DEFAULT 1.0,
    max_concurrent_agents INTEGER NOT NULL DEFAULT 2,
    status TEXT NOT NULL DEFAULT 'ACTIVE',
    total_tokens_used INTEGER NOT NULL DEFAULT 0,
    budget_limit INTEGER,
    discord_channel_id TEXT
) WITHOUT ROWID;

CREATE TABLE repos (
    id TEXT PRIMARY KEY NOT NULL,
    project_id TEXT NOT NULL DEFAULT 'default',
    source_type TEXT NOT NULL DEFAULT 'LINK',
    url TEXT NOT NULL DEFAULT '',
    source_path TEXT NOT NULL DEFAULT '',
    default_branch TEXT NOT NULL DEFAULT 'main',
    checkout_base_path TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
INSERT INTO projects (id) VALUES ('default');
INSERT INTO repos (id) VALUES ('default');

-- ---------------------------------------------------------------- work and its record
-- The journal of every operation on git and the database, written before its first step.
CREATE TABLE operations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done', 'rolled_back', 'undone')),
    step TEXT NOT NULL,
    data TEXT NOT NULL DEFAULT '{}',
    actor TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);
-- for: operations.open
CREATE INDEX idx_operations_status ON operations(status, id);

CREATE TABLE landings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repo_id TEXT NOT NULL DEFAULT 'default',
    operation_id INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    branch TEXT NOT NULL,
    target_ref TEXT NOT NULL,
    target_old TEXT NOT NULL,
    target_new TEXT NOT NULL,
    branch_old TEXT NOT NULL,
    landed_at_ms INTEGER NOT NULL
);

CREATE TABLE reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    identity TEXT NOT NULL,
    commit_oid TEXT NOT NULL,
    base_oid TEXT NOT NULL,
    patches TEXT NOT NULL DEFAULT '[]',
    note TEXT NOT NULL DEFAULT '',
    ts_ms INTEGER NOT NULL
);
-- for: reviews.latest
CREATE INDEX idx_reviews_worker ON reviews(worker_id, id);

-- The last published tip of each branch, and the last known tip of the target.
CREATE TABLE published_tips (
    ref TEXT PRIMARY KEY NOT NULL,
    oid TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Tips that our replays created: their commits are not published as news.
CREATE TABLE own_rewrites (
    ref TEXT NOT NULL,
    new_oid TEXT NOT NULL,
    old_oid TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (ref, new_oid)
) WITHOUT ROWID;

-- ---------------------------------------------------------------- guards: the log
-- legal_no_insert is created after the rows are loaded (migrate.load_machines).
CREATE TRIGGER legal_no_update BEFORE UPDATE ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END;
CREATE TRIGGER legal_no_delete BEFORE DELETE ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END;

CREATE TRIGGER transitions_no_update BEFORE UPDATE ON transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the transition log is append-only');
END;
CREATE TRIGGER transitions_no_delete BEFORE DELETE ON transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the transition log is append-only');
END;
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
    END;
END;
-- BEFORE INSERT sees only a seq that the statement names; this one refuses a seq before the end.
CREATE TRIGGER transitions_append AFTER INSERT ON transitions
WHEN NEW.seq < (SELECT MAX(seq) FROM transitions) BEGIN
    SELECT RAISE(ABORT, 'gitworker: the transition log is append-only');
END;
CREATE TRIGGER transitions_apply_worker AFTER INSERT ON transitions WHEN NEW.machine = 'worker' BEGIN
    UPDATE workers SET state = NEW.to_state, version = NEW.version, state_changed_at_ms = NEW.ts_ms
    WHERE worker_id = NEW.entity_id;
END;
CREATE TRIGGER transitions_apply_task AFTER INSERT ON transitions WHEN NEW.machine = 'task' BEGIN
    UPDATE tasks SET status = NEW.to_state, version = NEW.version, status_changed_at_ms = NEW.ts_ms
    WHERE id = NEW.entity_id;
END;
CREATE TRIGGER transitions_apply_workstream AFTER INSERT ON transitions
WHEN NEW.machine = 'workstream' BEGIN
    UPDATE workstreams SET state = NEW.to_state, version = NEW.version,
        state_changed_at_ms = NEW.ts_ms
    WHERE id = NEW.entity_id;
END;
CREATE TRIGGER transitions_apply_agent AFTER INSERT ON transitions WHEN NEW.machine = 'agent' BEGIN
    UPDATE agents SET state = NEW.to_state, version = NEW.version, state_changed_at_ms = NEW.ts_ms
    WHERE id = NEW.entity_id;
END;

-- ---------------------------------------------------------------- guards: the entities
-- INSERT OR REPLACE deletes without firing delete triggers: an existing id is refused here, and
-- the tables have no rowid and no other unique key to replace by.
CREATE TRIGGER workers_insert BEFORE INSERT ON workers BEGIN
    SELECT RAISE(ABORT, 'gitworker: the worker exists already')
    WHERE EXISTS (SELECT 1 FROM workers WHERE worker_id = NEW.worker_id);
    SELECT RAISE(ABORT, 'gitworker: a worker begins IDLE at version 0')
    WHERE NEW.state IS NOT 'IDLE' OR NEW.version IS NOT 0;
END;
CREATE TRIGGER workers_update BEFORE UPDATE OF worker_id, state, version ON workers BEGIN
    SELECT RAISE(ABORT, 'gitworker: a worker keeps its id')
    WHERE NEW.worker_id IS NOT OLD.worker_id;
    SELECT RAISE(ABORT, 'gitworker: a state changes by a row in transitions')
    WHERE (NEW.state IS NOT OLD.state OR NEW.version IS NOT OLD.version) AND NOT EXISTS (
        SELECT 1 FROM transitions
        WHERE machine = 'worker' AND entity_id = OLD.worker_id AND version = OLD.version + 1
            AND NEW.version = OLD.version + 1
            AND from_state = OLD.state AND to_state = NEW.state
    );
END;
CREATE TRIGGER workers_delete BEFORE DELETE ON workers BEGIN
    SELECT RAISE(ABORT, 'gitworker: workers are not deleted');
END;

CREATE TRIGGER tasks_insert BEFORE INSERT ON tasks BEGIN
    SELECT RAISE(ABORT, 'gitworker: the task exists already')
    WHERE EXISTS (SELECT 1 FROM tasks WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'gitworker: a task begins DEFINED at version 0')
    WHERE NEW.status IS NOT 'DEFINED' OR NEW.version IS NOT 0;
END;
CREATE TRIGGER tasks_update BEFORE UPDATE OF id, status, version ON tasks BEGIN
    SELECT RAISE(ABORT, 'gitworker: a task keeps its id') WHERE NEW.id IS NOT OLD.id;
    SELECT RAISE(ABORT, 'gitworker: a state changes by a row in transitions')
    WHERE (NEW.status IS NOT OLD.status OR NEW.version IS NOT OLD.version) AND NOT EXISTS (
        SELECT 1 FROM transitions
        WHERE machine = 'task' AND entity_id = OLD.id AND version = OLD.version + 1
            AND NEW.version = OLD.version + 1
            AND from_state = OLD.status AND to_state = NEW.status
    );
END;
CREATE TRIGGER tasks_delete BEFORE DELETE ON tasks BEGIN
    SELECT RAISE(ABORT, 'gitworker: tasks are not deleted');
END;

CREATE TRIGGER workstreams_insert BEFORE INSERT ON workstreams BEGIN
    SELECT RAISE(ABORT, 'gitworker: the workstream exists already')
    WHERE EXISTS (SELECT 1 FROM workstreams WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'gitworker: a workstream begins planned at version 0')
    WHERE NEW.state IS NOT 'planned' OR NEW.version IS NOT 0;
END;
CREATE TRIGGER workstreams_update BEFORE UPDATE OF id, state, version ON workstreams BEGIN
    SELECT RAISE(ABORT, 'gitworker: a workstream keeps its id') WHERE NEW.id IS NOT OLD.id;
    SELECT RAISE(ABORT, 'gitworker: a state changes by a row in transitions')
    WHERE (NEW.state IS NOT OLD.state OR NEW.version IS NOT OLD.version) AND NOT EXISTS (
        SELECT 1 FROM transitions
        WHERE machine = 'workstream' AND entity_id = OLD.id AND version = OLD.version + 1
            AND NEW.version = OLD.version + 1
            AND from_state = OLD.state AND to_state = NEW.state
    );
END;
CREATE TRIGGER workstreams_delete BEFORE DELETE ON workstreams BEGIN
    SELECT RAISE(ABORT, 'gitworker: workstreams are not deleted');
END;

CREATE TRIGGER agents_insert BEFORE INSERT ON agents BEGIN
    SELECT RAISE(ABORT, 'gitworker: the agent exists already')
    WHERE EXISTS (SELECT 1 FROM agents WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'gitworker: an agent begins INITIALIZING at version 0')
    WHERE NEW.state IS NOT 'INITIALIZING' OR NEW.version IS NOT 0;
END;
CREATE TRIGGER agents_update BEFORE UPDATE OF id, state, version ON agents BEGIN
    SELECT RAISE(ABORT, 'gitworker: an agent keeps its id') WHERE NEW.id IS NOT OLD.id;
    SELECT RAISE(ABORT, 'gitworker: a state changes by a row in transitions')
    WHERE (NEW.state IS NOT OLD.state OR NEW.version IS NOT OLD.version) AND NOT EXISTS (
        SELECT 1 FROM transitions
        WHERE machine = 'agent' AND entity_id = OLD.id AND version = OLD.version + 1
            AND NEW.version = OLD.version + 1
            AND from_state = OLD.state AND to_state = NEW.state
    );
END;
CREATE TRIGGER agents_delete BEFORE DELETE ON agents BEGIN
    SELECT RAISE(ABORT, 'gitworker: agents are not deleted');
END;
