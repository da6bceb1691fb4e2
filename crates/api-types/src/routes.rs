//! The list of routes. Whoever adds one here must add its handler and its tests: the router and
//! the tests go through [`ALL`].

use crate::defaults::{COMMAND_BODY_BYTES, LOGIN_BODY_BYTES};
use crate::route::Method::{Delete, Get, Post};
use crate::route::{Policy, Route};
use crate::{
    Events, InventoryItem, InventoryList, InventoryQuery, Job, JobCreated, JobList, JobNodes,
    LoginRequest, PingCommand, PingReply, Report, RevokeTokens, Root, ServiceStatus, StopCommand,
    StopReply, TaskCommand, TaskDetail, TaskList, TaskPermitted, TokenReply, User,
};

/// View, start and stop any job, and the inventory: one coarse right, as Puppet Enterprise has it.
const VIEW: Policy = Policy::Permission {
    object_type: "orchestrator",
    action: "view",
};
const RUN_TASK: Policy = Policy::Permission {
    object_type: "tasks",
    action: "run",
};

macro_rules! routes {
    ($($name:ident = $route:expr;)*) => {
        $(
            #[doc = concat!("See [`Route::summary`] of `", stringify!($name), "`.")]
            pub const $name: Route = $route;
        )*

        /// Every route.
        pub const ALL: &[Route] = &[$($name),*];
    };
}

routes! {
    ROOT = Route::new(Get, "/orchestrator", "root", Policy::Authenticated, "What is here")
        .reply::<Root>(200);
    ROOT_V1 = Route::new(Get, "/orchestrator/v1", "root_v1", Policy::Authenticated,
        "What is here").reply::<Root>(200);
    STATUS = Route::new(Get, "/orchestrator/v1/status", "orchestrator_status",
        Policy::Authenticated, "How the orchestrator is").reply::<ServiceStatus>(200);
    SWAGGER = Route::new(Get, "/orchestrator/v1/swagger.json", "openapi_document",
        Policy::Public, "This document").text(200, "application/json");

    COMMAND_TASK = Route::new(Post, "/orchestrator/v1/command/task", "command_task", RUN_TASK,
        "Run a task on nodes").request::<TaskCommand>().reply::<JobCreated>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_STOP = Route::new(Post, "/orchestrator/v1/command/stop", "command_stop", VIEW,
        "Stop a job").request::<StopCommand>().reply::<StopReply>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_PING = Route::new(Post, "/orchestrator/v1/command/ping", "command_ping", VIEW,
        "Ask agents for a sign of life").request::<PingCommand>().reply::<PingReply>(200)
        .max_body_bytes(COMMAND_BODY_BYTES);

    JOBS = Route::new(Get, "/orchestrator/v1/jobs", "jobs", VIEW, "The jobs")
        .reply::<JobList>(200)
        .query(&["limit", "offset", "order_by", "order", "type", "task",
            "min_finish_timestamp", "max_finish_timestamp"]);
    JOB = Route::new(Get, "/orchestrator/v1/jobs/{job}", "job", VIEW, "One job")
        .reply::<Job>(200);
    JOB_NODES = Route::new(Get, "/orchestrator/v1/jobs/{job}/nodes", "job_nodes", VIEW,
        "The nodes of a job").reply::<JobNodes>(200)
        .query(&["limit", "offset", "order_by", "order", "state"]);
    JOB_REPORT = Route::new(Get, "/orchestrator/v1/jobs/{job}/report", "job_report", VIEW,
        "The report of a job").reply::<Report>(200);
    JOB_EVENTS = Route::new(Get, "/orchestrator/v1/jobs/{job}/events", "job_events", VIEW,
        "The events of a job").reply::<Events>(200).query(&["start"]);
    EVENTS_STREAM = Route::new(Get, "/orchestrator/v1/events/stream", "events_stream", VIEW,
        "Events, and the live output of one job, as they happen")
        .text(200, "text/event-stream").query(&["job", "start"]);

    TASKS = Route::new(Get, "/orchestrator/v1/tasks", "tasks", Policy::Authenticated,
        "The tasks of an environment").reply::<TaskList>(200).query(&["environment"]);
    TASK = Route::new(Get, "/orchestrator/v1/tasks/{module}/{task}", "task",
        Policy::Authenticated, "One task").reply::<TaskDetail>(200).query(&["environment"]);
    TASK_PERMITTED = Route::new(Get, "/orchestrator/v1/tasks/{module}/{task}/permitted",
        "task_permitted", Policy::Authenticated, "Whether the user may run the task")
        .reply::<TaskPermitted>(200).query(&["environment"]);

    INVENTORY = Route::new(Get, "/orchestrator/v1/inventory", "inventory", VIEW,
        "The connected nodes").reply::<InventoryList>(200);
    INVENTORY_NODE = Route::new(Get, "/orchestrator/v1/inventory/{node}", "inventory_node", VIEW,
        "Whether a node is connected").reply::<InventoryItem>(200);
    INVENTORY_QUERY = Route::new(Post, "/orchestrator/v1/inventory", "inventory_query", VIEW,
        "Whether nodes are connected").request::<InventoryQuery>().reply::<InventoryList>(200);

    AUTH_TOKEN = Route::new(Post, "/rbac-api/v1/auth/token", "auth_token", Policy::Public,
        "Log in").request::<LoginRequest>().reply::<TokenReply>(200)
        .max_body_bytes(LOGIN_BODY_BYTES);
    TOKENS_REVOKE = Route::new(Delete, "/rbac-api/v2/tokens", "tokens_revoke",
        Policy::Authenticated, "Revoke tokens").request::<RevokeTokens>().nothing(204)
        .query(&["revoke_tokens", "revoke_tokens_by_labels"]);
    USER_CURRENT = Route::new(Get, "/rbac-api/v1/users/current", "user_current",
        Policy::Authenticated, "Who the token belongs to").reply::<User>(200);

    SERVICES = Route::new(Get, "/status/v1/services", "services", Policy::Public,
        "How the services are").text(200, "application/json").query(&["level", "timeout"]);
    SERVICE = Route::new(Get, "/status/v1/services/{service}", "service", Policy::Public,
        "How a service is").reply::<ServiceStatus>(200).query(&["level", "timeout"]);
    SIMPLE = Route::new(Get, "/status/v1/simple", "simple", Policy::Public,
        "Whether all is well, in one word").text(200, "text/plain");
    SIMPLE_SERVICE = Route::new(Get, "/status/v1/simple/{service}", "simple_service",
        Policy::Public, "Whether a service is well, in one word").text(200, "text/plain");
    METRICS = Route::new(Get, "/metrics", "metrics", Policy::Authenticated,
        "Figures for Prometheus").text(200, "text/plain; version=0.0.4");

    CONTROLLER = Route::new(Get, "/server", "controller", Policy::Broker,
        "A broker on another machine connects here (WebSocket)").nothing(101);
    CONTROLLER_SERVER = Route::new(Get, "/server/server", "controller_server", Policy::Broker,
        "The same, as brokers append it to a path of their configuration").nothing(101);
}
