-- Schema 3: what landing needs: verdicts on trees, commands that a person trusts, stacks, the radar.

-- Repository-supplied commands that a person has agreed to, by the hash of their content.
CREATE TABLE trusted_commands (
    hash TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    commands TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    ts_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Every run of the verify commands. `key` hashes the tree, the commands and the declared environment:
-- a tree that passed never runs again, whatever commit carries it.
CREATE TABLE verify_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    tree_oid TEXT NOT NULL,
    commit_oid TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('passed', 'failed')),
    flaky INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    log TEXT NOT NULL DEFAULT '',
    duration_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    ts_ms INTEGER NOT NULL
);
-- for: verify.latest_of_key
CREATE INDEX idx_verify_runs_key ON verify_runs(key, id);
-- for: verify.latest_of_commit
CREATE INDEX idx_verify_runs_commit ON verify_runs(commit_oid, id);

-- What a worker's branch was started on: another worker's branch, which lands before it.
CREATE TABLE stacks (
    worker_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    parent_worker TEXT NOT NULL,
    parent_task TEXT NOT NULL,
    parent_branch TEXT NOT NULL,
    parent_oid TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (worker_id, task_id)
) WITHOUT ROWID;
-- for: stacks.landing_of, stacks.tips_of
CREATE INDEX idx_landings_worker ON landings(worker_id, task_id, id);

-- A worker's branch as we published it to a remote: `oid` is what a push is known to have put there,
-- `pending` (ids with spaces) what pushes of which nothing was heard may have. Nothing else of a
-- remote's branch is ever replaced.
CREATE TABLE published_branches (
    remote TEXT NOT NULL,
    branch TEXT NOT NULL,
    oid TEXT NOT NULL DEFAULT '',
    pending TEXT NOT NULL DEFAULT '',
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (remote, branch)
) WITHOUT ROWID;

-- What merging two commits gives: the files in conflict as a JSON array, empty for none.
CREATE TABLE merge_verdicts (
    one_oid TEXT NOT NULL,
    other_oid TEXT NOT NULL,
    files TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (one_oid, other_oid)
) WITHOUT ROWID;

-- Where a tip left a target: NULL where that is not simple, the tip itself where the target has it.
CREATE TABLE tip_forks (
    target_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    base_oid TEXT,
    PRIMARY KEY (target_oid, tip_oid)
) WITHOUT ROWID;

-- What differs between two commits, statuses and paths as a JSON array; NULL where it is too much.
CREATE TABLE tip_changes (
    base_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    changes TEXT,
    PRIMARY KEY (base_oid, tip_oid)
) WITHOUT ROWID;

-- Branches that moved and that the radar has not looked at since; after a failure not before a time.
CREATE TABLE radar_due (
    ref TEXT PRIMARY KEY NOT NULL,
    ts_ms INTEGER NOT NULL,
    retry_at_ms INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Pairs of branches in conflict whose workers were told so.
CREATE TABLE conflict_warnings (
    one_ref TEXT NOT NULL,
    other_ref TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (one_ref, other_ref)
) WITHOUT ROWID;

-- The windows of the landing queue: who was stacked on what, what was verified, how it ended. `workers`
-- and `verdicts` are JSON arrays; a window without an end whose queue is gone was cut off.
CREATE TABLE windows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    base_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    workers TEXT NOT NULL,
    verdicts TEXT NOT NULL DEFAULT '[]',
    size INTEGER NOT NULL,
    landed INTEGER NOT NULL DEFAULT 0,
    outcome TEXT CHECK (outcome IN ('landed', 'failed', 'moved', 'refused', 'cut_off')),
    actor TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER
);
-- for: windows.end_cut_off
CREATE INDEX idx_windows_open ON windows(id) WHERE ended_at_ms IS NULL;

-- When a landing was taken back by an undo.
ALTER TABLE landings ADD COLUMN undone_at_ms INTEGER;

-- In which boot a log file's position was written: after another one the file is looked through.
ALTER TABLE export_positions ADD COLUMN boot_id TEXT;

-- Agents that have outlived their supervisor (agents.orphans), or are being stopped by it: up to where
-- orders to them were carried out, why one is to end, and when it is killed, by CLOCK_MONOTONIC of its
-- run's boot.
CREATE TABLE orphans (
    run_id INTEGER PRIMARY KEY NOT NULL,
    after_seq INTEGER NOT NULL,
    why TEXT NOT NULL DEFAULT '',
    kill_at_mono_ms INTEGER
) WITHOUT ROWID;
