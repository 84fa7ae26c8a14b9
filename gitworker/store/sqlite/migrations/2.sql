-- Schema 2: what the bus needs beside seed 2's tables: failed deliveries, dead letters, the clock
-- readings of leases, senders' budgets, supervised runs.

-- Messages that an agent's handler has failed on and will be handed again (bus.process).
CREATE TABLE deliveries (
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    last_error TEXT NOT NULL DEFAULT '',
    retry_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) WITHOUT ROWID;

-- Messages that an agent's handler failed on for good: a copy, since the cursor has passed them
-- and retention will drop the original.
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

-- The clock readings of a lease. Valid only while lease_until_ms equals the claim's: a foreign
-- program claims without it, and then its wall clock is what we have.
CREATE TABLE claim_clocks (
    task_id TEXT PRIMARY KEY,
    lease_until_ms INTEGER NOT NULL,
    mono_until_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    host TEXT NOT NULL
) WITHOUT ROWID;

-- How much a sender may still publish right now: a token bucket (bus.pressure).
CREATE TABLE send_budgets (
    agent_id TEXT PRIMARY KEY,
    tokens REAL NOT NULL,
    at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Every supervised run of an agent (agents.supervise): who watched over which process, how it ended.
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
    reason TEXT NOT NULL DEFAULT ''
);
-- for: runs.latest
CREATE INDEX idx_runs_worker ON runs(worker_id, id);
