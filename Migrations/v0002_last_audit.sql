-- 1 → 2: operators ask when every page of a list was last checked. Older rows do not prove such a time, so it is NULL.

ALTER TABLE query ADD COLUMN last_audit_at INTEGER;
