-- The last number of each table whose rows are numbered.
CREATE TABLE row_numbers (name text PRIMARY KEY, last bigint NOT NULL);

-- The transactions of the fleet, in their order: the rows that each one changed, as JSON. `own` are
-- the rows that its machine alone has; only that machine reads them, if it ended in between.
CREATE TABLE fleet_log (
    position BIGINT PRIMARY KEY,
    machine TEXT NOT NULL,
    mark TEXT NOT NULL UNIQUE,
    shared TEXT NOT NULL,
    own TEXT NOT NULL,
    written_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION append_to_fleet_log(machine text, mark text, shared text, own text) RETURNS bigint
LANGUAGE plpgsql AS $$ -- which keeps the plan of its statement
DECLARE
    new_position bigint;
BEGIN
    INSERT INTO fleet_log (position, machine, mark, shared, own)
    SELECT COALESCE(MAX(position), 0) + 1, $1, $2, $3, $4 FROM fleet_log
    RETURNING position INTO new_position;
    RETURN new_position;
END $$;

-- A row that another program changes, such as psql, reaches the machines, too. The arguments of the
-- trigger are the columns of the key.
CREATE FUNCTION log_foreign_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kind text := lower(TG_OP);
    row_before jsonb := CASE WHEN TG_OP = 'INSERT' THEN to_jsonb(NEW) ELSE to_jsonb(OLD) END;
    row_after jsonb := CASE WHEN TG_OP = 'DELETE' THEN '{}'::jsonb ELSE to_jsonb(NEW) END;
    key jsonb;
BEGIN
    IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NULL; END IF;
    IF TG_OP = 'UPDATE' THEN -- some columns have values on their machine only
        SELECT jsonb_object_agg(c.key, c.value) INTO row_after FROM jsonb_each(row_after) AS c
        WHERE c.value IS DISTINCT FROM row_before -> c.key;
        IF row_after IS NULL THEN RETURN NULL; END IF;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('gitworker:' || TG_TABLE_SCHEMA, 0));
    SELECT jsonb_object_agg(name, row_before -> name) INTO key FROM unnest(TG_ARGV) AS name;
    PERFORM append_to_fleet_log('', gen_random_uuid()::text,
        jsonb_build_array(jsonb_build_array(TG_TABLE_NAME, kind, key, row_after))::text, '[]');
    PERFORM pg_notify(TG_TABLE_SCHEMA, '');
    RETURN NULL;
END $$
;

-- Large payloads of messages, which are files on each machine.
CREATE TABLE payloads (ref text PRIMARY KEY, content bytea NOT NULL)
