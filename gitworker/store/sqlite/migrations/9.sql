-- Schema 9: the machines of a fleet, and when the tokens of a run were reported.

DROP TRIGGER IF EXISTS legal_no_insert;
INSERT OR IGNORE INTO legal_transitions (machine, from_state, event, to_state) VALUES
    ('worker', 'ASSIGNED', 'expire', 'FAILED');
CREATE TRIGGER legal_no_insert BEFORE INSERT ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END;

-- The machines of a fleet; empty in a repository of its own. `lands`: a run there lands its work.
CREATE TABLE machines (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    version TEXT NOT NULL,
    joined_at_ms INTEGER NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    incarnation INTEGER NOT NULL DEFAULT 1,
    position INTEGER NOT NULL DEFAULT 0,
    capabilities TEXT NOT NULL DEFAULT '[]',
    heartbeats TEXT NOT NULL DEFAULT '[]',
    left_at_ms INTEGER,
    lands INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- The messages that a hot verb sent and the link has not published yet.
CREATE TABLE fleet_outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    ts_ms INTEGER NOT NULL,
    from_agent TEXT NOT NULL,
    to_agent TEXT,
    type TEXT NOT NULL,
    correlation_id TEXT,
    in_reply_to TEXT,
    payload TEXT,
    payload_ref TEXT
);
-- When the tokens of a run were reported: a JSON array of [quarter of an hour, tokens], in which
-- the quarter is the time of its beginning, in ms.
ALTER TABLE runs ADD COLUMN token_times TEXT NOT NULL DEFAULT '[]';
-- The machine of a worker's worktree in a fleet.
ALTER TABLE workers ADD COLUMN machine TEXT;
-- The only machine of a fleet on which an agent runs; NULL: on all.
ALTER TABLE agents ADD COLUMN machine TEXT;
-- The hand-ins that were made while the fleet could not be reached.
CREATE TABLE fleet_hand_ins (
    worker_id TEXT PRIMARY KEY NOT NULL,
    task_id TEXT NOT NULL,
    note TEXT NOT NULL,
    pr_url TEXT,
    created_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
