-- Schema 11: guards of the counted dependencies and of the epochs, and an index of answers.

-- Each change counts again, so that a wrong number does not stay.
DROP TRIGGER IF EXISTS task_dependencies_insert;
DROP TRIGGER IF EXISTS task_dependencies_delete;
DROP TRIGGER IF EXISTS tasks_landed;
DROP TRIGGER IF EXISTS tasks_handed_in;
UPDATE tasks SET open_needs = (
    SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
    WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
        AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
);
CREATE TRIGGER task_dependencies_insert AFTER INSERT ON task_dependencies BEGIN
    UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id = NEW.task_id;
END;
CREATE TRIGGER task_dependencies_delete AFTER DELETE ON task_dependencies BEGIN
    UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id = OLD.task_id;
END;
CREATE TRIGGER tasks_satisfy AFTER UPDATE OF status ON tasks
WHEN (NEW.status = 'COMPLETED') <> (OLD.status = 'COMPLETED')
    OR (NEW.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED'))
        <> (OLD.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED')) BEGIN
    UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on = NEW.id);
END;
CREATE TRIGGER tasks_open_needs BEFORE UPDATE OF open_needs ON tasks
WHEN NEW.open_needs IS NOT OLD.open_needs BEGIN
    SELECT RAISE(ABORT, 'gitworker: open dependencies are counted, never set')
    WHERE NEW.open_needs IS NOT (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = OLD.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    );
END;

CREATE TRIGGER claim_epochs_insert BEFORE INSERT ON claim_epochs BEGIN
    SELECT RAISE(ABORT, 'gitworker: an epoch is raised, never set')
    WHERE EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id);
END;
CREATE TRIGGER claim_epochs_update BEFORE UPDATE ON claim_epochs
WHEN NEW.epoch < OLD.epoch OR NEW.task_id IS NOT OLD.task_id BEGIN
    SELECT RAISE(ABORT, 'gitworker: an epoch is raised, never set');
END;
CREATE TRIGGER claim_epochs_delete BEFORE DELETE ON claim_epochs BEGIN
    SELECT RAISE(ABORT, 'gitworker: epochs are not deleted');
END;
DROP TRIGGER IF EXISTS claims_raise_epoch_on_takeover;
CREATE TRIGGER claims_raise_epoch_on_takeover AFTER UPDATE OF claimed_by, task_id ON task_claims
WHEN NEW.claimed_by IS NOT OLD.claimed_by OR NEW.task_id IS NOT OLD.task_id BEGIN
    INSERT INTO claim_epochs (task_id, epoch) SELECT NEW.task_id, 0
    WHERE NOT EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id);
    UPDATE claim_epochs SET epoch = epoch + 1 WHERE task_id = NEW.task_id;
END;

-- for: messages.unanswered
CREATE INDEX idx_messages_in_reply_to ON messages(in_reply_to) WHERE in_reply_to IS NOT NULL;
