-- A hash of each row's content, so that damage which leaves the structure whole is found.
-- 0: not known. `row_hash` is `database.integrity.row_hash`.
ALTER TABLE sessions ADD COLUMN hash INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blocks ADD COLUMN hash INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET hash = row_hash(
    id, agent, provider, project, title, bypass_approval, archived, status, pending_approval,
    pending_question, created_at, updated_at, last_seq, tokens, context_tokens, context_max,
    context_source, error
);
UPDATE blocks SET hash = row_hash(session, id, pos, seq, type, body);
