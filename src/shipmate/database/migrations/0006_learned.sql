CREATE TABLE learned (
    model TEXT PRIMARY KEY,
    context INTEGER NOT NULL,
    context_set INTEGER NOT NULL,
    output INTEGER NOT NULL,
    output_set INTEGER NOT NULL
);
