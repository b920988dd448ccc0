-- What a person needs to know one browser's sign-in from another: the kind of device, the last use.
ALTER TABLE sign_ins ADD COLUMN device TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
