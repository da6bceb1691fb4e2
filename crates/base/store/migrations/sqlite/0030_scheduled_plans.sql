-- The plan job of a slot of a schedule, written in the plan job's transaction. A slot has one at most.
CREATE TABLE schedule_plan_launches (
    schedule BIGINT NOT NULL,
    slot_ms  BIGINT NOT NULL,
    plan_job BIGINT NOT NULL,
    PRIMARY KEY (schedule, slot_ms)
);
