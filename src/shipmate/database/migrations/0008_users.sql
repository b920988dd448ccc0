-- People with passwords. A name is who one is: it owns, and it is in `sessions.readers` (a JSON
-- array). The empty name is the person at the machine, as long as there are no users.
CREATE TABLE users (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    password TEXT NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
);
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN readers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE usage ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE api_tokens ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN user TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_owner ON sessions (owner, archived, updated_at DESC, id DESC);
UPDATE sessions SET hash = row_hash(
    id, agent, provider, project, title, bypass_approval, archived, status, pending_approval,
    pending_question, created_at, updated_at, last_seq, tokens, context_tokens, context_max,
    context_source, error, owner, readers
);
