-- Schema 6: a queue of tasks: the fields of a planned task, and the dependencies that are open.

-- JSON arrays of texts: conditions that define "done", commands that test the work, texts for the
-- agent, and the paths that the task will change.
ALTER TABLE tasks ADD COLUMN acceptance_criteria TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN test_commands TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN attached_context TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN paths TEXT NOT NULL DEFAULT '[]';
-- The time limit of one attempt. NULL: none of its own.
ALTER TABLE tasks ADD COLUMN timeout_s INTEGER;
-- The agent that shall do the task. NULL: any.
ALTER TABLE tasks ADD COLUMN agent TEXT;
-- 1: nothing starts the task until it is released.
ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
-- The place in the plan that added the task; it orders tasks of the same priority and time.
ALTER TABLE tasks ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
-- 1: a restart has waived the dependencies.
ALTER TABLE tasks ADD COLUMN waives_needs INTEGER NOT NULL DEFAULT 0;
-- The number of dependencies that are not satisfied. Only the triggers below change it.
ALTER TABLE tasks ADD COLUMN open_needs INTEGER NOT NULL DEFAULT 0;
-- `landed`: satisfied by COMPLETED; `done`: also once the work is handed in.
ALTER TABLE task_dependencies ADD COLUMN until TEXT NOT NULL DEFAULT 'landed'
    CHECK (until IN ('landed', 'done'));

-- for: task_needs.dependents, and the triggers that count open dependencies
CREATE INDEX idx_task_dependencies_on ON task_dependencies(depends_on, until);
UPDATE tasks SET open_needs = (
    SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
    WHERE d.task_id = tasks.id AND n.status IS NOT 'COMPLETED'
);
-- for: task_queue.ready
CREATE INDEX idx_tasks_ready ON tasks(priority, created_at_ms, position, id)
WHERE status = 'READY' AND held = 0 AND (open_needs = 0 OR waives_needs = 1);
-- for: tasks.unblocked
CREATE INDEX idx_tasks_unblocked ON tasks(priority, created_at_ms, position, id)
WHERE status = 'DEFINED' AND open_needs = 0;
-- for: tasks.due_retries
CREATE INDEX idx_tasks_failed ON tasks(resume_after_ms) WHERE status = 'FAILED';
-- for: task_queue.count_by_status
CREATE INDEX idx_tasks_status ON tasks(status);

CREATE TRIGGER task_dependencies_insert AFTER INSERT ON task_dependencies
WHEN NOT EXISTS (
    SELECT 1 FROM tasks WHERE id = NEW.depends_on AND (status = 'COMPLETED'
        OR NEW.until = 'done' AND status IN ('VERIFYING', 'AWAITING_APPROVAL'))
) BEGIN
    UPDATE tasks SET open_needs = open_needs + 1 WHERE id = NEW.task_id;
END;
CREATE TRIGGER task_dependencies_delete AFTER DELETE ON task_dependencies
WHEN NOT EXISTS (
    SELECT 1 FROM tasks WHERE id = OLD.depends_on AND (status = 'COMPLETED'
        OR OLD.until = 'done' AND status IN ('VERIFYING', 'AWAITING_APPROVAL'))
) BEGIN
    UPDATE tasks SET open_needs = open_needs - 1 WHERE id = OLD.task_id;
END;
-- A changed row would be counted twice, and INSERT OR REPLACE deletes without firing triggers.
CREATE TRIGGER task_dependencies_update BEFORE UPDATE ON task_dependencies BEGIN
    SELECT RAISE(ABORT, 'gitworker: a dependency is deleted and inserted, never changed');
END;
CREATE TRIGGER task_dependencies_twice BEFORE INSERT ON task_dependencies BEGIN
    SELECT RAISE(ABORT, 'gitworker: the dependency exists already') WHERE EXISTS (
        SELECT 1 FROM task_dependencies
        WHERE task_id = NEW.task_id AND depends_on = NEW.depends_on
    );
END;
CREATE TRIGGER tasks_landed AFTER UPDATE OF status ON tasks
WHEN (NEW.status = 'COMPLETED') <> (OLD.status = 'COMPLETED') BEGIN
    UPDATE tasks SET open_needs = open_needs + CASE NEW.status WHEN 'COMPLETED' THEN -1 ELSE 1 END
    WHERE id IN (
        SELECT task_id FROM task_dependencies WHERE depends_on = NEW.id AND until = 'landed'
    );
END;
CREATE TRIGGER tasks_handed_in AFTER UPDATE OF status ON tasks
WHEN (NEW.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED'))
    <> (OLD.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED')) BEGIN
    UPDATE tasks SET open_needs = open_needs
        + CASE WHEN NEW.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED') THEN -1 ELSE 1 END
    WHERE id IN (
        SELECT task_id FROM task_dependencies WHERE depends_on = NEW.id AND until = 'done'
    );
END;
