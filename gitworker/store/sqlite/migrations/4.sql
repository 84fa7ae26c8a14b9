-- Schema 4: the PID namespace in which a stored pid means something. NULL: not known.

ALTER TABLE workers ADD COLUMN pid_ns TEXT;
ALTER TABLE runs ADD COLUMN pid_ns TEXT;
