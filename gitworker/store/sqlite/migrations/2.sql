-- Schema 2: more side tables of the bus: failed deliveries, dead letters, the clock readings of
-- leases, senders' budgets, supervised runs.

-- Messages with which an agent's handler failed and which it will get again
-- (bus.client.handle_messages).
CREATE TABLE deliveries (
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    last_error TEXT NOT NULL DEFAULT '',
    retry_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) WITHOUT ROWID;

-- Messages with which an agent's handler failed too often: a copy, since the cursor has passed them
-- and retention will delete the original.
CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    from_agent TEXT NOT NULL,
    to_agent TEXT,
    type TEXT NOT NULL,
    correlation_id TEXT,
    in_reply_to TEXT,
    payload TEXT,
    payload_ref TEXT,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    dead_at_ms INTEGER NOT NULL,
    UNIQUE (agent_id, seq)
);

-- The clock readings of a lease, and how long a renewal makes it. Valid only while lease_until_ms
-- equals the claim's: a foreign program writes no clock readings, and then its wall clock counts.
CREATE TABLE claim_clocks (
    task_id TEXT PRIMARY KEY,
    lease_until_ms INTEGER NOT NULL,
    mono_until_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    host TEXT NOT NULL,
    lease_ms INTEGER NOT NULL DEFAULT 60000,
    is_fixed INTEGER NOT NULL DEFAULT 0  -- 1: this long whatever the setting says
) WITHOUT ROWID;

-- The last epoch of each holder. A holder with an old epoch has lost its claim. Its next command
-- reports that, even if the claim is free again.
CREATE TABLE claim_grants (
    holder TEXT NOT NULL,
    task_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (holder, task_id)
) WITHOUT ROWID;

-- The token bucket of each sender (bus.limits).
CREATE TABLE send_budgets (
    agent_id TEXT PRIMARY KEY,
    tokens REAL NOT NULL,
    at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Every supervised run of an agent (agents.supervise): its supervisor, its process, its end.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id TEXT NOT NULL,
    task_id TEXT,
    command TEXT NOT NULL,
    supervisor_pid INTEGER NOT NULL,
    supervisor_start TEXT,
    pid INTEGER,
    pid_start TEXT,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    exit_status INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    paused_at_ms INTEGER
);
-- for: runs.latest
CREATE INDEX idx_runs_worker ON runs(worker_id, id);
-- for: runs.open
CREATE INDEX idx_runs_open ON runs(id) WHERE ended_at_ms IS NULL;

-- The journal of prunes (bus.files.retention), so that a kill leaves no message in two archives. A
-- `writing` archive is deleted. The rows of a `written` one are deleted from the tables, then from
-- bus.jsonl; then it is `done`.
CREATE TABLE archives (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    step TEXT NOT NULL CHECK (step IN ('writing', 'written', 'done')),
    file TEXT NOT NULL DEFAULT '',
    lines INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL
);
