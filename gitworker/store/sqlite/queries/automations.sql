-- name: insert — a new automation
INSERT INTO automations (id, name, enabled, trigger, context_steps, prompt_template, llm_config,
    action, cooldown_seconds, max_tokens_per_run, created_at_ms, updated_at_ms, next_at_ms,
    message_seq, transition_seq)
VALUES (:id, :title, :enabled, :trigger, :context_steps, :prompt_template, :llm_config, :action,
    :cooldown_seconds, :max_tokens_per_run, :now, :now, :next_at_ms, :message_seq,
    :transition_seq);

-- name: by_id — one automation
SELECT id, project_id, name AS title, enabled, trigger, context_steps, prompt_template, llm_config,
    action, cooldown_seconds, max_tokens_per_run, created_at_ms, updated_at_ms, version, next_at_ms,
    last_run_at_ms, message_seq, transition_seq
FROM automations WHERE id = :id;

-- name: all — every automation by id
SELECT id, project_id, name AS title, enabled, trigger, context_steps, prompt_template, llm_config,
    action, cooldown_seconds, max_tokens_per_run, created_at_ms, updated_at_ms, version, next_at_ms,
    last_run_at_ms, message_seq, transition_seq
FROM automations ORDER BY id;

-- name: enabled — the automations that may fire
SELECT id, project_id, name AS title, enabled, trigger, context_steps, prompt_template, llm_config,
    action, cooldown_seconds, max_tokens_per_run, created_at_ms, updated_at_ms, version, next_at_ms,
    last_run_at_ms, message_seq, transition_seq
FROM automations WHERE enabled = 1 ORDER BY id;

-- name: due — the time of the next firing by time
SELECT MIN(next_at_ms) AS at_ms FROM automations WHERE enabled = 1;

-- name: claim — advance the schedule of a version, so that one process fires it
UPDATE automations SET version = version + 1, next_at_ms = :next_at_ms,
    last_run_at_ms = COALESCE(:last_run_at_ms, last_run_at_ms), message_seq = :message_seq,
    transition_seq = :transition_seq
WHERE id = :id AND version = :version;

-- name: move — begin the next search for events later
UPDATE automations SET message_seq = :message_seq, transition_seq = :transition_seq
WHERE id = :id AND version = :version;

-- name: set_enabled — let it fire from now on, or never
UPDATE automations SET enabled = :enabled, version = version + 1, updated_at_ms = :now,
    next_at_ms = :next_at_ms, message_seq = :message_seq, transition_seq = :transition_seq
WHERE id = :id;

-- name: remove — delete an automation; its runs stay
DELETE FROM automations WHERE id = :id;

-- name: insert_run — a new run
INSERT INTO automation_runs (id, automation_id, project_id, trigger_reason, status, event_data,
    skipped_reason, started_at_ms, completed_at_ms)
VALUES (:id, :automation_id, :project_id, :trigger_reason, :status, :event_data, :skipped_reason,
    :now, :completed_at_ms);

-- name: take_run — become the process that carries a run out, if there is no other
UPDATE automation_runs SET runner_pid = :pid, runner_start = :start, boot_id = :boot_id
WHERE id = :id AND status = 'running' AND runner_pid IS NULL;

-- name: end_run — the outcome of a run
UPDATE automation_runs SET status = :status, context_results = :context_results,
    prompt_sent = :prompt_sent, llm_response = :llm_response, actions_taken = :actions_taken,
    skipped_reason = :skipped_reason, tokens_used = :tokens_used, completed_at_ms = :now
WHERE id = :id AND status = 'running';

-- name: run_by_id — one run
SELECT id, automation_id, project_id, trigger_reason, status, event_data, context_results,
    prompt_sent, llm_response, actions_taken, skipped_reason, tokens_used, started_at_ms,
    completed_at_ms, runner_pid, runner_start, boot_id
FROM automation_runs WHERE id = :id;

-- name: history — the newest runs of an automation, newest first
SELECT id, automation_id, project_id, trigger_reason, status, event_data, context_results,
    prompt_sent, llm_response, actions_taken, skipped_reason, tokens_used, started_at_ms,
    completed_at_ms, runner_pid, runner_start, boot_id
FROM automation_runs INDEXED BY idx_automation_runs_of
WHERE automation_id = :id ORDER BY started_at_ms DESC, id DESC LIMIT :limit;

-- name: running — the runs that have not ended
SELECT id, automation_id, project_id, trigger_reason, status, event_data, context_results,
    prompt_sent, llm_response, actions_taken, skipped_reason, tokens_used, started_at_ms,
    completed_at_ms, runner_pid, runner_start, boot_id
FROM automation_runs INDEXED BY idx_automation_runs_open WHERE status = 'running' ORDER BY id;

-- name: positions — the newest message and the newest transition
SELECT (SELECT COALESCE(MAX(seq), 0) FROM messages) AS message_seq,
    (SELECT COALESCE(MAX(seq), 0) FROM transitions) AS transition_seq;

-- name: messages — messages of some types after a position, oldest first
SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, payload FROM messages
WHERE seq > :after AND type IN (SELECT value FROM json_each(:types)) ORDER BY seq LIMIT :limit;

-- name: statuses — steps of tasks to some statuses after a position, oldest first
SELECT seq, ts_ms, entity_id AS task, from_state, event, to_state, actor FROM transitions
WHERE seq > :after AND machine = 'task'
    AND to_state IN (SELECT value FROM json_each(:statuses)) ORDER BY seq LIMIT :limit;
