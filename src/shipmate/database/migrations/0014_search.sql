-- The words of blocks and titles (`database.words`), to search in. What `words` makes of a text
-- changes only with a migration that drops and makes this anew.
-- `id` is when it was said (milliseconds * 2^20, and a number): the newest first is by `id`.
-- Block '' is the session's title. `digest`: of the text that is indexed.
CREATE TABLE indexed (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    block TEXT NOT NULL,
    role TEXT NOT NULL,
    digest BLOB NOT NULL
);
CREATE UNIQUE INDEX indexed_once ON indexed (session, block);
CREATE VIRTUAL TABLE search USING fts5 (
    parts, wholes, title, tokenize = "ascii tokenchars '+#'", prefix = '1', columnsize = 0
);
CREATE TRIGGER indexed_gone AFTER DELETE ON indexed BEGIN
    DELETE FROM search WHERE rowid = old.id;
END;
-- Sessions that were there before, the newest first, and how far each has been indexed.
CREATE TABLE unindexed (
    number INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    after INTEGER NOT NULL DEFAULT 0
);
INSERT INTO unindexed (session) SELECT id FROM sessions ORDER BY updated_at DESC, id DESC;
