//! Routes of plans and plan jobs.

use crate::defaults::COMMAND_BODY_BYTES;
use crate::route::Method::{Get, Post};
use crate::route::{Policy, Route};
use crate::routes::permissions::{RUN_PLAN, RUN_TASK, VIEW};
use crate::{
    EnvironmentPlanRunCommand, JobCreated, PlanAnswerCommand, PlanDetail, PlanEvent, PlanEvents,
    PlanFinishCommand, PlanJob, PlanJobList, PlanList, PlanName, PlanResumeCommand, PlanResumed,
    PlanRunCommand, PlanStartCommand, PlanSteps, StopPlanCommand, TaskCommand,
};

super::group! {
    COMMAND_PLAN_RUN = Route::new(Post, "/orchestrator/v1/command/plan_run", "command_plan_run",
        RUN_PLAN, "Run a plan").request::<PlanRunCommand>().reply::<PlanName>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_ENVIRONMENT_PLAN_RUN = Route::new(Post,
        "/orchestrator/v1/command/environment_plan_run", "command_environment_plan_run", RUN_PLAN,
        "Run a plan with parameters that stand for nodes").request::<EnvironmentPlanRunCommand>()
        .reply::<PlanName>(202).max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_PLAN_START = Route::new(Post, "/orchestrator/v1/command/plan_start",
        "command_plan_start", RUN_TASK, "Tell of a plan that runs in Bolt")
        .request::<PlanStartCommand>().reply::<PlanName>(202).max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_PLAN_TASK = Route::new(Post, "/orchestrator/v1/command/plan_task",
        "command_plan_task", RUN_TASK, "Run a task as a step of a plan job")
        .request::<TaskCommand>().reply::<JobCreated>(202).max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_PLAN_FINISH = Route::new(Post, "/orchestrator/v1/command/plan_finish",
        "command_plan_finish", RUN_TASK, "Tell how a plan ended in Bolt")
        .request::<PlanFinishCommand>().reply::<PlanName>(202).max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_PLAN_RESUME = Route::new(Post, "/orchestrator/v1/command/plan_resume",
        "command_plan_resume", RUN_PLAN, "Let a plan that failed go on")
        .request::<PlanResumeCommand>().reply::<PlanResumed>(202);
    COMMAND_PLAN_ANSWER = Route::new(Post, "/orchestrator/v1/command/plan_answer",
        "command_plan_answer", RUN_PLAN, "Answer a step of a plan that waits for it")
        .request::<PlanAnswerCommand>().reply::<PlanName>(202);
    COMMAND_STOP_PLAN = Route::new(Post, "/orchestrator/v1/command/stop_plan",
        "command_stop_plan", VIEW, "Stop a plan job").request::<StopPlanCommand>()
        .reply::<PlanName>(202);
    PLANS = Route::new(Get, "/orchestrator/v1/plans", "plans", Policy::Authenticated,
        "The plans of an environment").reply::<PlanList>(200).query(&["environment"]);
    PLAN = Route::new(Get, "/orchestrator/v1/plans/{module}/{plan}", "plan",
        Policy::Authenticated, "One plan").reply::<PlanDetail>(200).query(&["environment"]);
    PLAN_JOBS = Route::new(Get, "/orchestrator/v1/plan_jobs", "plan_jobs", VIEW, "The plan jobs")
        .reply::<PlanJobList>(200).query(&["limit", "offset", "order_by", "order", "results",
            "min_finish_timestamp", "max_finish_timestamp"]);
    PLAN_JOB = Route::new(Get, "/orchestrator/v1/plan_jobs/{plan_job}", "plan_job", VIEW,
        "One plan job").reply::<PlanJob>(200);
    PLAN_JOB_STEPS = Route::new(Get, "/orchestrator/v1/plan_jobs/{plan_job}/steps",
        "plan_job_steps", VIEW, "The steps of a plan that this server runs")
        .reply::<PlanSteps>(200).query(&["limit", "offset", "state"]);
    PLAN_JOB_EVENTS = Route::new(Get, "/orchestrator/v1/plan_jobs/{plan_job}/events",
        "plan_job_events", VIEW, "The events of a plan job").reply::<PlanEvents>(200)
        .query(&["start"]);
    PLAN_JOB_EVENT = Route::new(Get, "/orchestrator/v1/plan_jobs/{plan_job}/event/{event}",
        "plan_job_event", VIEW, "One event of a plan job, uncut").reply::<PlanEvent>(200);
}
