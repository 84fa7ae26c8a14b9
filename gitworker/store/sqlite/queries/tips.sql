-- name: all — every ref's last published tip
SELECT ref, oid FROM published_tips;

-- name: of_ref — one ref's last published tip
SELECT ref, oid FROM published_tips WHERE ref = :ref;

-- name: set — record a tip
INSERT INTO published_tips (ref, oid, updated_at_ms) VALUES (:ref, :oid, :now)
ON CONFLICT (ref) DO UPDATE SET oid = excluded.oid, updated_at_ms = excluded.updated_at_ms;

-- name: move — record a tip if the last one is the one that the caller saw
UPDATE published_tips SET oid = :new, updated_at_ms = :now WHERE ref = :ref AND oid = :old;

-- name: forget — a ref that no longer exists
DELETE FROM published_tips WHERE ref = :ref;

-- name: add_rewrite — a tip that we are about to create
INSERT INTO own_rewrites (ref, new_oid, old_oid, ts_ms)
VALUES (:ref, :new_oid, :old_oid, :now)
ON CONFLICT DO NOTHING;

-- name: rewrites_of — the tips of a ref that we created
SELECT new_oid, old_oid FROM own_rewrites WHERE ref = :ref ORDER BY ts_ms;

-- name: forget_rewrites — those of a ref that no longer exists
DELETE FROM own_rewrites WHERE ref = :ref;

-- name: due — refs that moved since the last radar
SELECT ref FROM radar_due WHERE retry_at_ms <= :now;

-- name: set_due — a ref that the radar has to check
INSERT INTO radar_due (ref, ts_ms) VALUES (:ref, :now)
ON CONFLICT (ref) DO UPDATE SET ts_ms = excluded.ts_ms, retry_at_ms = 0;

-- name: set_due_if_moved — the same, if the last published tip differs
INSERT INTO radar_due (ref, ts_ms)
SELECT :ref, :now WHERE EXISTS (SELECT 1 FROM published_tips WHERE ref = :ref AND oid <> :oid)
ON CONFLICT (ref) DO UPDATE SET ts_ms = excluded.ts_ms, retry_at_ms = 0;
