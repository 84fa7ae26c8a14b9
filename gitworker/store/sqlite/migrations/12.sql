-- Schema 12: the messages that each machine of a fleet may still need.

-- Agents of the machine may not have read the messages from this position on; 0: all of them.
ALTER TABLE machines ADD COLUMN needs_from INTEGER NOT NULL DEFAULT 0;
