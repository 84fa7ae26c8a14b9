-- Schema 11 of a fleet: the guards of migrations/11.sql as `rules_dialect` translates them.
DROP TRIGGER IF EXISTS tasks_landed ON tasks;
DROP TRIGGER IF EXISTS tasks_handed_in ON tasks;
DROP FUNCTION IF EXISTS tasks_landed();
DROP FUNCTION IF EXISTS tasks_handed_in();
DROP TRIGGER IF EXISTS task_dependencies_insert ON task_dependencies;
CREATE OR REPLACE FUNCTION task_dependencies_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id = NEW.task_id;
RETURN NEW;
END $$;
CREATE TRIGGER task_dependencies_insert AFTER INSERT ON task_dependencies FOR EACH ROW EXECUTE FUNCTION task_dependencies_insert();
DROP TRIGGER IF EXISTS task_dependencies_delete ON task_dependencies;
CREATE OR REPLACE FUNCTION task_dependencies_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN OLD; END IF;
UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id = OLD.task_id;
RETURN OLD;
END $$;
CREATE TRIGGER task_dependencies_delete AFTER DELETE ON task_dependencies FOR EACH ROW EXECUTE FUNCTION task_dependencies_delete();
CREATE OR REPLACE FUNCTION tasks_satisfy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
IF ((NEW.status = 'COMPLETED') <> (OLD.status = 'COMPLETED')
    OR (NEW.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED'))
        <> (OLD.status IN ('VERIFYING', 'AWAITING_APPROVAL', 'COMPLETED'))) THEN
UPDATE tasks SET open_needs = (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = tasks.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    ) WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on = NEW.id);
END IF;
RETURN NEW;
END $$;
CREATE TRIGGER tasks_satisfy AFTER UPDATE OF status ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_satisfy();
CREATE OR REPLACE FUNCTION tasks_open_needs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
IF (NEW.open_needs IS DISTINCT FROM OLD.open_needs) THEN
IF (NEW.open_needs IS DISTINCT FROM (
        SELECT COUNT(*) FROM task_dependencies AS d LEFT JOIN tasks AS n ON n.id = d.depends_on
        WHERE d.task_id = OLD.id AND (n.id IS NULL OR n.status <> 'COMPLETED'
            AND NOT (d.until = 'done' AND n.status IN ('VERIFYING', 'AWAITING_APPROVAL')))
    )) THEN RAISE EXCEPTION 'open dependencies are counted, never set' USING ERRCODE = 'GW001'; END IF;
END IF;
RETURN NEW;
END $$;
CREATE TRIGGER tasks_open_needs BEFORE UPDATE OF open_needs ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_open_needs();
CREATE OR REPLACE FUNCTION claim_epochs_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
IF (EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id)) THEN RAISE EXCEPTION 'an epoch is raised, never set' USING ERRCODE = 'GW001'; END IF;
RETURN NEW;
END $$;
CREATE TRIGGER claim_epochs_insert BEFORE INSERT ON claim_epochs FOR EACH ROW EXECUTE FUNCTION claim_epochs_insert();
CREATE OR REPLACE FUNCTION claim_epochs_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
IF (NEW.epoch < OLD.epoch OR NEW.task_id IS DISTINCT FROM OLD.task_id) THEN
RAISE EXCEPTION 'an epoch is raised, never set' USING ERRCODE = 'GW001';
END IF;
RETURN NEW;
END $$;
CREATE TRIGGER claim_epochs_update BEFORE UPDATE ON claim_epochs FOR EACH ROW EXECUTE FUNCTION claim_epochs_update();
CREATE OR REPLACE FUNCTION claim_epochs_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN OLD; END IF;
RAISE EXCEPTION 'epochs are not deleted' USING ERRCODE = 'GW001';
RETURN OLD;
END $$;
CREATE TRIGGER claim_epochs_delete BEFORE DELETE ON claim_epochs FOR EACH ROW EXECUTE FUNCTION claim_epochs_delete();
DROP TRIGGER IF EXISTS claims_raise_epoch_on_takeover ON task_claims;
CREATE OR REPLACE FUNCTION claims_raise_epoch_on_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;
IF (NEW.claimed_by IS DISTINCT FROM OLD.claimed_by OR NEW.task_id IS DISTINCT FROM OLD.task_id) THEN
INSERT INTO claim_epochs (task_id, epoch) SELECT NEW.task_id, 0
    WHERE NOT EXISTS (SELECT 1 FROM claim_epochs WHERE task_id = NEW.task_id);
UPDATE claim_epochs SET epoch = epoch + 1 WHERE task_id = NEW.task_id;
END IF;
RETURN NEW;
END $$;
CREATE TRIGGER claims_raise_epoch_on_takeover AFTER UPDATE OF claimed_by, task_id ON task_claims FOR EACH ROW EXECUTE FUNCTION claims_raise_epoch_on_takeover();
CREATE INDEX idx_messages_in_reply_to ON messages (in_reply_to) WHERE in_reply_to IS NOT NULL
