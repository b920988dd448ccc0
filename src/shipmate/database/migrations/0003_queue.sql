-- Messages that wait for their turn. One goes when the block it becomes is kept.
CREATE TABLE queue (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, place)
);
