-- As `migrations/0015_devices.sql`.
ALTER TABLE sign_ins ADD COLUMN device TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ins ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0;
