-- name: recorded — the target branch, as a person chose it or as it was first found
SELECT value AS name FROM meta WHERE key = 'gitworker_target';

-- name: record_first — record the target, unless another command was faster
INSERT INTO meta (key, value) VALUES ('gitworker_target', :name)
ON CONFLICT DO NOTHING;

-- name: change — record another target, unless another command was faster
UPDATE meta SET value = :name WHERE key = 'gitworker_target' AND value = :seen;
