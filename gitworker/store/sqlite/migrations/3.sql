-- Schema 3: the tables of landing: verdicts on trees, trusted commands, stacks, the radar.

-- Commands of the repository that a person has trusted, by the hash of their content.
CREATE TABLE trusted_commands (
    hash TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    commands TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    ts_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Every run of the verify commands. `key` hashes the tree, the commands and the declared environment:
-- a tree that passed is not verified again, in any commit.
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

-- A worker's branch that was started on another worker's branch, which lands before it.
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
-- for: landings.of_task, stacks.tips_of
CREATE INDEX idx_landings_worker ON landings(worker_id, task_id, id);

-- A worker's branch as we pushed it to a remote: `oid` is the commit of the last successful push,
-- `pending` (ids with spaces) the commits of pushes with an unknown result. A push replaces no other
-- commit of a remote's branch.
CREATE TABLE published_branches (
    remote TEXT NOT NULL,
    branch TEXT NOT NULL,
    oid TEXT NOT NULL DEFAULT '',
    pending TEXT NOT NULL DEFAULT '',
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (remote, branch)
) WITHOUT ROWID;

-- The result of merging two commits: the files in conflict as a JSON array.
CREATE TABLE merge_verdicts (
    one_oid TEXT NOT NULL,
    other_oid TEXT NOT NULL,
    files TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (one_oid, other_oid)
) WITHOUT ROWID;

-- The fork point of a tip and a target: NULL if there are several, the tip itself if the target
-- contains it.
CREATE TABLE tip_forks (
    target_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    base_oid TEXT,
    PRIMARY KEY (target_oid, tip_oid)
) WITHOUT ROWID;

-- The differences between two commits, statuses and paths as a JSON array; NULL if there are too
-- many.
CREATE TABLE tip_changes (
    base_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    changes TEXT,
    PRIMARY KEY (base_oid, tip_oid)
) WITHOUT ROWID;

-- Branches that moved since the last radar; after a failure, with the time of the next try.
CREATE TABLE radar_due (
    ref TEXT PRIMARY KEY NOT NULL,
    ts_ms INTEGER NOT NULL,
    retry_at_ms INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Pairs of branches in conflict for which a warning was published.
CREATE TABLE conflict_warnings (
    one_ref TEXT NOT NULL,
    other_ref TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    PRIMARY KEY (one_ref, other_ref)
) WITHOUT ROWID;

-- The windows of the landing queue: workers, verdicts and outcome. `workers` and `verdicts` are JSON
-- arrays; a window without an end whose queue has ended was cut off.
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

-- When a landing was undone.
ALTER TABLE landings ADD COLUMN undone_at_ms INTEGER;

-- The boot in which a log file's position was written: after another one the file is written again.
ALTER TABLE export_positions ADD COLUMN boot_id TEXT;

-- Agents that have outlived their supervisor (agents.orphans), or are being stopped by it: the
-- position of the last order carried out, the reason to end, and the time of the kill by
-- CLOCK_MONOTONIC of the run's boot.
CREATE TABLE orphans (
    run_id INTEGER PRIMARY KEY NOT NULL,
    after_seq INTEGER NOT NULL,
    why TEXT NOT NULL DEFAULT '',
    kill_at_mono_ms INTEGER
) WITHOUT ROWID;
