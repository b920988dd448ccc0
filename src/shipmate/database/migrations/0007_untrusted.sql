-- The session has read what strangers wrote. What counts is in its blocks; this is for lists, so no
-- hash covers it.
ALTER TABLE sessions ADD COLUMN untrusted INTEGER NOT NULL DEFAULT 0;
