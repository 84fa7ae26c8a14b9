-- Schema 7: workstreams that run and end, automations, and projects that share a repository.

-- A JSON array: the commands that run when all tasks are complete.
ALTER TABLE workstreams ADD COLUMN validation TEXT NOT NULL DEFAULT '[]';
ALTER TABLE workstreams ADD COLUMN created_at_ms INTEGER;
-- The time at which the first task started, and the end.
ALTER TABLE workstreams ADD COLUMN started_at_ms INTEGER;
ALTER TABLE workstreams ADD COLUMN ended_at_ms INTEGER;
ALTER TABLE workstreams ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
ALTER TABLE workstreams ADD COLUMN archived_at_ms INTEGER;
-- 1: a change of state or of the tasks has consequences that are not carried out yet.
ALTER TABLE workstreams ADD COLUMN is_due INTEGER NOT NULL DEFAULT 0;
-- The full name of the branch on which its tasks land; NULL: the target.
ALTER TABLE workstreams ADD COLUMN branch TEXT;
-- The commit of the target with which that branch landed as a whole.
ALTER TABLE workstreams ADD COLUMN landed_oid TEXT;

-- for: workstreams.due
CREATE INDEX idx_workstreams_due ON workstreams(id) WHERE is_due = 1;
-- for: workstreams.members, workstreams.in_status
CREATE INDEX idx_tasks_workstream ON tasks(workstream_id, status, critical)
WHERE workstream_id IS NOT NULL;

-- Automations of the user: commands, tasks and agents that start by time or by events. The columns
-- with JSON are `trigger`, `context_steps`, `llm_config` and `action`.
CREATE TABLE automations (
    id TEXT PRIMARY KEY NOT NULL,
    project_id TEXT NOT NULL DEFAULT 'default',
    name TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    trigger TEXT NOT NULL,
    context_steps TEXT NOT NULL DEFAULT '[]',
    prompt_template TEXT NOT NULL DEFAULT '',
    llm_config TEXT,
    action TEXT NOT NULL,
    cooldown_seconds INTEGER NOT NULL DEFAULT 3600,
    max_tokens_per_run INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    -- Raised by each firing: of two orchestrators one wins.
    version INTEGER NOT NULL DEFAULT 0,
    -- The next time of a periodic one or of a cron expression.
    next_at_ms INTEGER,
    last_run_at_ms INTEGER,
    -- The last message and the last transition that were considered.
    message_seq INTEGER NOT NULL DEFAULT 0,
    transition_seq INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- for: automations.due
CREATE INDEX idx_automations_due ON automations(next_at_ms) WHERE enabled = 1;

-- One firing of an automation each; `runner_pid` carries it out.
CREATE TABLE automation_runs (
    id TEXT PRIMARY KEY NOT NULL,
    automation_id TEXT NOT NULL,
    project_id TEXT NOT NULL DEFAULT 'default',
    trigger_reason TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'completed', 'failed', 'skipped')),
    event_data TEXT,
    context_results TEXT,
    prompt_sent TEXT,
    llm_response TEXT,
    actions_taken TEXT,
    skipped_reason TEXT,
    tokens_used INTEGER NOT NULL DEFAULT 0,
    started_at_ms INTEGER NOT NULL,
    completed_at_ms INTEGER,
    runner_pid INTEGER,
    runner_start TEXT,
    boot_id TEXT
) WITHOUT ROWID;
-- for: automations.history
CREATE INDEX idx_automation_runs_of ON automation_runs(automation_id, started_at_ms);
-- for: automations.running
CREATE INDEX idx_automation_runs_open ON automation_runs(id) WHERE status = 'running';

-- 1: a person has set max_concurrent_agents, so that it also limits agents started by hand.
ALTER TABLE projects ADD COLUMN limits_agents INTEGER NOT NULL DEFAULT 0;
-- The agent time that the project is owed, in milliseconds; negative if it had more than its share.
ALTER TABLE projects ADD COLUMN credit_ms INTEGER NOT NULL DEFAULT 0;
-- The time until which the agent time of all projects is accounted.
ALTER TABLE projects ADD COLUMN accounted_at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET limits_agents = 1 WHERE max_concurrent_agents <> 2;
CREATE TRIGGER projects_limit_set AFTER UPDATE OF max_concurrent_agents ON projects BEGIN
    UPDATE projects SET limits_agents = 1 WHERE id = NEW.id;
END;
CREATE TRIGGER projects_limit_given AFTER INSERT ON projects
WHEN NEW.max_concurrent_agents <> 2 BEGIN
    UPDATE projects SET limits_agents = 1 WHERE id = NEW.id;
END;
-- for: task_queue.ready_of_project
CREATE INDEX idx_tasks_ready_of_project
ON tasks(project_id, priority, created_at_ms, position, id)
WHERE status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1);
-- Its place is taken by the index above.
DROP INDEX idx_tasks_ready;
-- for: observe.tasks
CREATE INDEX idx_tasks_listed ON tasks(status, status_changed_at_ms DESC, id);
-- Its place is taken by the index above.
DROP INDEX idx_tasks_status;

-- The number of tasks of each project in each status, so that screens cost the same among any number
-- of tasks. Only the triggers below change it.
CREATE TABLE task_counts (
    project_id TEXT NOT NULL,
    status TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (project_id, status)
) WITHOUT ROWID;
INSERT INTO task_counts (project_id, status, number)
SELECT project_id, status, COUNT(*) FROM tasks GROUP BY project_id, status;
-- (No OR IGNORE, as in schema.sql.)
CREATE TRIGGER tasks_count_new AFTER INSERT ON tasks BEGIN
    INSERT INTO task_counts (project_id, status, number) SELECT NEW.project_id, NEW.status, 0
    WHERE NOT EXISTS (
        SELECT 1 FROM task_counts WHERE project_id = NEW.project_id AND status = NEW.status
    );
    UPDATE task_counts SET number = number + 1
    WHERE project_id = NEW.project_id AND status = NEW.status;
END;
CREATE TRIGGER tasks_count_moved AFTER UPDATE OF status, project_id ON tasks
WHEN NEW.status IS NOT OLD.status OR NEW.project_id IS NOT OLD.project_id BEGIN
    INSERT INTO task_counts (project_id, status, number) SELECT NEW.project_id, NEW.status, 0
    WHERE NOT EXISTS (
        SELECT 1 FROM task_counts WHERE project_id = NEW.project_id AND status = NEW.status
    );
    UPDATE task_counts SET number = number
        + CASE WHEN project_id = NEW.project_id AND status = NEW.status THEN 1 ELSE -1 END
    WHERE (project_id = NEW.project_id AND status = NEW.status)
        OR (project_id = OLD.project_id AND status = OLD.status);
END;

-- The same for the tasks of each workstream, with their retries and tokens.
CREATE TABLE workstream_counts (
    workstream_id TEXT NOT NULL,
    status TEXT NOT NULL,
    critical INTEGER NOT NULL,
    number INTEGER NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workstream_id, status, critical)
) WITHOUT ROWID;
INSERT INTO workstream_counts (workstream_id, status, critical, number, retries)
SELECT workstream_id, status, critical, COUNT(*), SUM(retry_count) FROM tasks
WHERE workstream_id IS NOT NULL GROUP BY workstream_id, status, critical;
CREATE TRIGGER workstream_counts_new AFTER INSERT ON tasks
WHEN NEW.workstream_id IS NOT NULL BEGIN
    INSERT INTO workstream_counts (workstream_id, status, critical)
    SELECT NEW.workstream_id, NEW.status, NEW.critical WHERE NOT EXISTS (
        SELECT 1 FROM workstream_counts WHERE workstream_id = NEW.workstream_id
            AND status = NEW.status AND critical = NEW.critical
    );
    UPDATE workstream_counts SET number = number + 1, retries = retries + NEW.retry_count
    WHERE workstream_id = NEW.workstream_id
        AND status = NEW.status AND critical = NEW.critical;
END;

-- The program of a registered agent: the words of its command, its capabilities as JSON arrays, the
-- variables of its environment as a JSON object.
ALTER TABLE agents ADD COLUMN command TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN capabilities TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN env TEXT NOT NULL DEFAULT '{}';
-- 1: a person has paused it, or has removed it: it gets no further task.
ALTER TABLE agents ADD COLUMN is_paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN is_leaving INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN created_at_ms INTEGER NOT NULL DEFAULT 0;
-- for: agents.of_names
CREATE INDEX idx_agents_name ON agents(name) WHERE state <> 'SHUTDOWN';
-- A JSON array: the capabilities that an agent of the task must have.
ALTER TABLE tasks ADD COLUMN capabilities TEXT NOT NULL DEFAULT '[]';
-- The tokens that the agents of the task have used, and those that they may use (NULL: any number).
ALTER TABLE tasks ADD COLUMN tokens_used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN budget_tokens INTEGER;
-- for: tasks.over_budget
CREATE INDEX idx_tasks_over_budget ON tasks(id)
WHERE budget_tokens IS NOT NULL AND tokens_used >= budget_tokens;
CREATE TRIGGER workstream_counts_moved
AFTER UPDATE OF status, critical, workstream_id, retry_count, tokens_used ON tasks
WHEN OLD.workstream_id IS NOT NULL OR NEW.workstream_id IS NOT NULL BEGIN
    UPDATE workstream_counts SET number = number - 1, retries = retries - OLD.retry_count,
        tokens = tokens - OLD.tokens_used
    WHERE workstream_id = OLD.workstream_id
        AND status = OLD.status AND critical = OLD.critical;
    INSERT INTO workstream_counts (workstream_id, status, critical)
    SELECT NEW.workstream_id, NEW.status, NEW.critical
    WHERE NEW.workstream_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM workstream_counts WHERE workstream_id = NEW.workstream_id
            AND status = NEW.status AND critical = NEW.critical
    );
    UPDATE workstream_counts SET number = number + 1, retries = retries + NEW.retry_count,
        tokens = tokens + NEW.tokens_used
    WHERE workstream_id = NEW.workstream_id
        AND status = NEW.status AND critical = NEW.critical;
END;
-- for: observe.seat_transitions
CREATE INDEX idx_transitions_screen ON transitions(seq) WHERE machine <> 'task';
-- for: runs.of_task
CREATE INDEX idx_runs_task ON runs(task_id, id);

-- Questions of workers to a person. `message_id` is the question on the bus, `answer_id` the answer;
-- `delivered_at_ms` is when an `ask` printed it. A `late` question can still be answered.
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    text TEXT NOT NULL,
    options TEXT NOT NULL DEFAULT '[]',
    message_id TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    timeout_ms INTEGER,
    state TEXT NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'late', 'answered', 'withdrawn')),
    answered_at_ms INTEGER,
    answer TEXT,
    answered_by TEXT,
    answer_id TEXT,
    delivered_at_ms INTEGER,
    CHECK ((state = 'answered') = (answer IS NOT NULL)),
    CHECK ((state = 'answered') = (answered_at_ms IS NOT NULL)),
    CHECK ((state = 'answered') = (answered_by IS NOT NULL))
);
-- for: questions.of_message, and questions_insert
CREATE INDEX idx_questions_message ON questions(message_id);
-- for: questions.of_task
CREATE INDEX idx_questions_task ON questions(task_id, id);
-- for: questions.unanswered, questions.due
CREATE INDEX idx_questions_open ON questions(id) WHERE state IN ('open', 'late');
CREATE TRIGGER questions_insert BEFORE INSERT ON questions BEGIN
    SELECT RAISE(ABORT, 'gitworker: the question exists already')
    WHERE EXISTS (SELECT 1 FROM questions WHERE id = NEW.id OR message_id = NEW.message_id);
    SELECT RAISE(ABORT, 'gitworker: a question begins open') WHERE NEW.state IS NOT 'open';
END;
CREATE TRIGGER questions_update BEFORE UPDATE ON questions BEGIN
    SELECT RAISE(ABORT, 'gitworker: a question keeps its words')
    WHERE NEW.id IS NOT OLD.id OR NEW.task_id IS NOT OLD.task_id
        OR NEW.worker_id IS NOT OLD.worker_id OR NEW.text IS NOT OLD.text
        OR NEW.options IS NOT OLD.options OR NEW.message_id IS NOT OLD.message_id
        OR NEW.asked_at_ms IS NOT OLD.asked_at_ms
        OR OLD.timeout_ms IS NOT NULL AND NEW.timeout_ms IS NOT OLD.timeout_ms;
    SELECT RAISE(ABORT, 'gitworker: an answer is given once')
    WHERE OLD.answer IS NOT NULL AND (NEW.answer IS NOT OLD.answer
        OR NEW.answered_at_ms IS NOT OLD.answered_at_ms
        OR NEW.answered_by IS NOT OLD.answered_by OR NEW.answer_id IS NOT OLD.answer_id);
    SELECT RAISE(ABORT, 'gitworker: illegal state of a question')
    WHERE NEW.state IS NOT OLD.state AND NOT (
        OLD.state = 'open' AND NEW.state IN ('late', 'answered', 'withdrawn')
        OR OLD.state = 'late' AND NEW.state IN ('answered', 'withdrawn'));
END;
CREATE TRIGGER questions_delete BEFORE DELETE ON questions BEGIN
    SELECT RAISE(ABORT, 'gitworker: questions are not deleted');
END;
-- A task that goes on, ends or is freed without the answer no longer waits for it.
CREATE TRIGGER tasks_withdraw_questions AFTER UPDATE OF status ON tasks
WHEN NEW.status NOT IN ('WAITING_INPUT', 'PAUSED', 'IN_PROGRESS') BEGIN
    UPDATE questions SET state = 'withdrawn'
    WHERE task_id = NEW.id AND state IN ('open', 'late');
END;

-- The events that a person was notified of; `key` names the event, so that it is sent once. A row
-- without `ended_at_ms` is being sent; `error` says which targets did not get it, and why. `missed`
-- counts the attempts that reached no target at all, after which it is sent again.
CREATE TABLE notifications (
    key TEXT PRIMARY KEY NOT NULL,
    event TEXT NOT NULL,
    title TEXT NOT NULL,
    begun_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    error TEXT,
    missed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- for: notifications.newest
CREATE INDEX idx_notifications_begun ON notifications(begun_at_ms);
-- for: notifications.break_off
CREATE INDEX idx_notifications_open ON notifications(key) WHERE ended_at_ms IS NULL;

-- Tokens of the input that came from a cache, and the model, if the agent reports them.
ALTER TABLE runs ADD COLUMN cached_tokens INTEGER;
ALTER TABLE runs ADD COLUMN model TEXT;
-- The cost that the agents of a project have reported, and the tokens of runs that report none, so
-- that screens need not read the runs.
CREATE TABLE project_spending (
    project_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    PRIMARY KEY (project_id, agent, model)
) WITHOUT ROWID;

-- 1: the agent is stopped because of a budget, so its task is paused.
ALTER TABLE orphans ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0;
