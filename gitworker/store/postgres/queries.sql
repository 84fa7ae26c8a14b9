-- name: exports.ever_last — the highest position that any message has had
SELECT last AS seq FROM row_numbers WHERE name = 'messages';

-- name: fsck.guards — the existing triggers, by the bodies of their functions
SELECT t.tgname AS name, p.prosrc AS sql
FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND t.tgrelid IN (
    SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace);

-- name: observe.sqlite_version — the version of the server
SELECT current_setting('server_version') AS version;

-- name: observe.journal_mode — PostgreSQL always writes a log ahead
SELECT 'wal' AS journal_mode;

-- name: observe.quick_check — PostgreSQL checks its own files
SELECT 'ok' AS quick_check;

-- name: retention.free_pages — PostgreSQL returns pages by itself
SELECT 0 AS freelist_count;

-- name: retention.page_size — the size of a page in bytes
SELECT current_setting('block_size')::bigint AS page_size;

-- name: retention.vacuum_step — PostgreSQL returns pages by itself
SELECT 1;

-- name: tasks.text — the text and the title of a task, the fields that its agent reads, its answers
SELECT description, title, acceptance_criteria, test_commands, attached_context,
    (SELECT COALESCE(jsonb_agg(jsonb_build_array(q.text, q.answer) ORDER BY q.id), '[]')::text
        FROM questions AS q WHERE q.task_id = :task AND q.state = 'answered') AS answers
FROM tasks WHERE id = :task;

-- name: workers.settle_conflict — a rebase has settled the conflict for which work was sent back
UPDATE workers SET returned_detail = jsonb_set(
    CASE WHEN json_valid(returned_detail) THEN returned_detail ELSE '{}' END::jsonb,
    '{is_settled}', 'true')::text
WHERE worker_id = :worker AND returned_by = 'merge_conflict';
