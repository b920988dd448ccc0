-- The session stands at the top of the list. A preference of the list only, so no hash covers it.
ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_pinned ON sessions (pinned) WHERE pinned;
