-- The functions of SQLite that the queries use, for JSON in columns of text. Paths are written alike.
CREATE FUNCTION json_valid(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN document::jsonb IS NOT NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;

-- Compact JSON on one line; what we write is that already, and keeps the order of its keys.
CREATE FUNCTION json(document text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(document, E'\n') = 0 THEN document ELSE document::jsonb::text END
$$;

CREATE FUNCTION json_extract(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_path_query_first(document::jsonb, path::jsonpath) #>> '{}'
$$;

CREATE FUNCTION json_type(document text, path text DEFAULT '$') RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE jsonb_typeof(found)
        WHEN 'string' THEN 'text'
        WHEN 'boolean' THEN found #>> '{}'
        WHEN 'number' THEN CASE WHEN found #>> '{}' ~ '^-?[0-9]+$' THEN 'integer' ELSE 'real' END
        ELSE jsonb_typeof(found) END
    FROM jsonb_path_query_first(document::jsonb, path::jsonpath) AS found
$$;

CREATE FUNCTION each_json(document text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE AS $$
    SELECT ordinality - 1, CASE jsonb_typeof(one) WHEN 'string' THEN one #>> '{}' ELSE one::text END
    FROM jsonb_array_elements(document::jsonb) WITH ORDINALITY AS each(one, ordinality)
$$;

CREATE FUNCTION typeof(number double precision) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN number IS NULL THEN 'null' ELSE 'real' END
$$;

-- The last number of each table whose rows are numbered.
CREATE TABLE row_numbers (name text PRIMARY KEY, last bigint NOT NULL);

CREATE FUNCTION last_insert_rowid() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT current_setting('gitworker.last_row')::bigint
$$;
