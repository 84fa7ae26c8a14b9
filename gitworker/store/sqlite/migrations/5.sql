-- Schema 5: work that was sent back waits for its author, and a failed worker can resume.

-- Why the worker is WORKING again: changes_requested, merge_conflict, verify_failed or withdrawn.
-- NULL: its work was not sent back since it was assigned or handed in.
ALTER TABLE workers ADD COLUMN returned_by TEXT;
-- The tip of the branch that was sent back.
ALTER TABLE workers ADD COLUMN returned_tip TEXT;
-- JSON: the conflicting files, the verify log, the reviewer's note.
ALTER TABLE workers ADD COLUMN returned_detail TEXT;
-- 1 until a process or a command works on the returned branch again: no heartbeat is expected.
ALTER TABLE workers ADD COLUMN waits_for_author INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER IF EXISTS legal_no_insert;
INSERT OR IGNORE INTO legal_transitions (machine, from_state, event, to_state)
VALUES ('worker', 'FAILED', 'resume', 'WORKING');
CREATE TRIGGER legal_no_insert BEFORE INSERT ON legal_transitions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the state machines are fixed');
END;

-- JSON: the words of an agent's command, whether it ran detached, its time limit. NULL: not known.
ALTER TABLE runs ADD COLUMN request TEXT;
-- The size of the agent's log when the run began. NULL: not known.
ALTER TABLE runs ADD COLUMN log_start_bytes INTEGER;

-- The outcome of a run, and the facts that a known agent has reported; NULL: not known.
ALTER TABLE runs ADD COLUMN outcome TEXT;
ALTER TABLE runs ADD COLUMN agent TEXT;
ALTER TABLE runs ADD COLUMN session TEXT;
ALTER TABLE runs ADD COLUMN input_tokens INTEGER;
ALTER TABLE runs ADD COLUMN output_tokens INTEGER;
ALTER TABLE runs ADD COLUMN cost_usd REAL;
ALTER TABLE runs ADD COLUMN failure TEXT;
ALTER TABLE runs ADD COLUMN resets_at_ms INTEGER;

-- Before, only the worker's row had the address of the pull request.
UPDATE tasks SET pr_url = (
    SELECT pr_url FROM workers WHERE task_id = tasks.id AND pr_url IS NOT NULL
    ORDER BY state_changed_at_ms DESC
) WHERE pr_url IS NULL;

-- Only our connections define this function: for any other program the name is the error message.
CREATE TRIGGER transitions_writer BEFORE INSERT ON transitions BEGIN
    SELECT only_gitworker_inserts_transitions();
END;

-- The result of rebasing a tip onto a target: the files in conflict as a JSON array.
CREATE TABLE IF NOT EXISTS replay_verdicts (
    target_oid TEXT NOT NULL,
    tip_oid TEXT NOT NULL,
    files TEXT NOT NULL,
    PRIMARY KEY (target_oid, tip_oid)
) WITHOUT ROWID;

-- The state of an agent's hooks between two calls: the status that they set last, how often in a
-- row they kept the agent at work, the last reason for it, and the lost claims that they reported.
CREATE TABLE IF NOT EXISTS agent_hooks (
    worker_id TEXT PRIMARY KEY NOT NULL,
    status TEXT,
    stops INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    lost TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

-- Before, a pair's result also had conflicts of one branch with the target alone.
DELETE FROM merge_verdicts;
