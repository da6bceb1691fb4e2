//! Routes of scheduled jobs, the deprecated ones too.

use crate::defaults::{COMMAND_BODY_BYTES, NODES_BODY_BYTES};
use crate::route::Method::{Delete, Get, Post, Put};
use crate::route::Route;
use crate::routes::permissions::{RUN_PLAN, RUN_PUPPET, RUN_TASK, VIEW};
use crate::schedules::{
    CreateScheduledJob, ScheduledCommand, ScheduledJob, ScheduledJobList, ScheduledJobReply,
    UpdateScheduledJob,
};

super::group! {
    SCHEDULED_CREATE = Route::new(Post, "/orchestrator/v1/scheduled_jobs/environment_jobs",
        "scheduled_create", VIEW, "Schedule a job; needs the right to run it")
        .request::<CreateScheduledJob>().reply::<ScheduledJobReply>(200)
        .max_body_bytes(COMMAND_BODY_BYTES);
    SCHEDULED = Route::new(Get, "/orchestrator/v1/scheduled_jobs/environment_jobs", "scheduled",
        VIEW, "The scheduled jobs").reply::<ScheduledJobList>(200)
        .query(&["limit", "offset", "order_by", "order", "type"]);
    SCHEDULED_ONE = Route::new(Get, "/orchestrator/v1/scheduled_jobs/environment_jobs/{job}",
        "scheduled_one", VIEW, "One scheduled job").reply::<ScheduledJob>(200);
    SCHEDULED_UPDATE = Route::new(Put, "/orchestrator/v1/scheduled_jobs/environment_jobs/{job}",
        "scheduled_update", VIEW, "Change or delete a scheduled job")
        .request::<UpdateScheduledJob>().reply::<ScheduledJobReply>(200)
        .max_body_bytes(COMMAND_BODY_BYTES);
    SCHEDULED_OLD = Route::new(Get, "/orchestrator/v1/scheduled_jobs", "scheduled_old", VIEW,
        "Deprecated: the scheduled jobs").reply::<ScheduledJobList>(200)
        .query(&["limit", "offset", "order_by", "order", "type"]);
    SCHEDULED_DELETE = Route::new(Delete, "/orchestrator/v1/scheduled_jobs/{job}",
        "scheduled_delete", VIEW, "Deprecated: delete a scheduled job").nothing(204);
    SCHEDULE_DEPLOY = Route::new(Post, "/orchestrator/v1/command/schedule_deploy",
        "schedule_deploy", RUN_PUPPET, "Deprecated: schedule a Puppet run")
        .request::<ScheduledCommand>().reply::<ScheduledJobReply>(202)
        .max_body_bytes(NODES_BODY_BYTES);
    SCHEDULE_TASK = Route::new(Post, "/orchestrator/v1/command/schedule_task", "schedule_task",
        RUN_TASK, "Deprecated: schedule a task")
        .request::<ScheduledCommand>().reply::<ScheduledJobReply>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
    SCHEDULE_PLAN = Route::new(Post, "/orchestrator/v1/command/schedule_plan", "schedule_plan",
        RUN_PLAN, "Deprecated: schedule a plan")
        .request::<ScheduledCommand>().reply::<ScheduledJobReply>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
}
