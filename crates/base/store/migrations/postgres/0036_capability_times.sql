-- When the catalog was compiled that produces a capability, since another server may compile the next one of its node.
ALTER TABLE produced_capabilities ADD COLUMN produced_ms BIGINT; -- NULL: before there was this column
