CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    project TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    bypass_approval INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'idle',
    pending_approval TEXT NOT NULL DEFAULT '',
    pending_question TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    context_tokens INTEGER NOT NULL DEFAULT 0,
    context_max INTEGER NOT NULL DEFAULT 0,
    context_source TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_by_update ON sessions (archived, updated_at DESC, id DESC);
CREATE INDEX sessions_by_status ON sessions (status);

CREATE TABLE blocks (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    pos INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX blocks_by_id ON blocks (session, id);
CREATE UNIQUE INDEX blocks_by_pos ON blocks (session, pos);
CREATE UNIQUE INDEX blocks_by_seq ON blocks (session, seq);

CREATE TABLE live_text (
    part INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL
);
CREATE INDEX live_text_by_message ON live_text (session, message);

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sign_ins (
    id TEXT PRIMARY KEY,
    cookie_hash TEXT NOT NULL UNIQUE,
    header_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
