CREATE TABLE usage (
    session TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    prompt INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session, day, model)
);
CREATE INDEX usage_by_day ON usage (day);
