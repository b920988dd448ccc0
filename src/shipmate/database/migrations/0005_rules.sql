-- What the user has decided ahead of calls. `text` is what was shown, word for word.
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    effect TEXT NOT NULL,
    text TEXT NOT NULL,
    scope TEXT NOT NULL,
    project TEXT NOT NULL DEFAULT '',
    session TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    enabled INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    approval TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX rules_once ON rules (effect, text, scope, project, COALESCE(session, ''));
