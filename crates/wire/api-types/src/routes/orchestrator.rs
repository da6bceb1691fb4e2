//! Routes under `/orchestrator`: jobs, tasks, nodes, commands.

use crate::defaults::{COMMAND_BODY_BYTES, NODES_BODY_BYTES};
use crate::route::Method::{Get, Post};
use crate::route::{Policy, Route};
use crate::routes::permissions::{RUN_PUPPET, RUN_TASK, VIEW, VIEW_NODE_DATA};
use crate::{
    ActionCommand, ConvergeCommand, DeployCommand, Events, InventoryItem, InventoryList,
    InventoryQuery, Job, JobCreated, JobList, JobNodes, LeaseList, LeaseQuery, MultiPassCommand,
    NodeSelection, NodeSelectionQuery, PingCommand, PingReply, PlanName, ReleaseLeasesCommand,
    ReleaseLeasesReply, Report, Root, ServiceStatus, StopCommand, StopReply, TaskCommand,
    TaskDetail, TaskList, TaskPermitted,
};

super::group! {
    ROOT = Route::new(Get, "/orchestrator", "root", Policy::Authenticated, "What is here")
        .reply::<Root>(200);
    ROOT_V1 = Route::new(Get, "/orchestrator/v1", "root_v1", Policy::Authenticated,
        "What is here").reply::<Root>(200);
    ROOT_V1_SLASH = Route::new(Get, "/orchestrator/v1/", "root_v1_slash", Policy::Authenticated,
        "What is here, as the Ruby client asks").reply::<Root>(200);
    STATUS = Route::new(Get, "/orchestrator/v1/status", "orchestrator_status",
        Policy::Authenticated, "How the orchestrator is").reply::<ServiceStatus>(200);
    SWAGGER = Route::new(Get, "/orchestrator/v1/swagger.json", "openapi_document",
        Policy::Public, "This document").text(200, "application/json");
    COMMAND_TASK = Route::new(Post, "/orchestrator/v1/command/task", "command_task", RUN_TASK,
        "Run a task on nodes").request::<TaskCommand>().reply::<JobCreated>(202)
        .max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_ACTION = Route::new(Post, "/orchestrator/v1/command/action", "command_action",
        RUN_TASK, "Run a command or a script on nodes, or put a file in place there")
        .request::<ActionCommand>().reply::<JobCreated>(202).max_body_bytes(COMMAND_BODY_BYTES);
    COMMAND_DEPLOY = Route::new(Post, "/orchestrator/v1/command/deploy", "command_deploy",
        RUN_PUPPET, "Run Puppet on nodes").request::<DeployCommand>().reply::<JobCreated>(202)
        .max_body_bytes(NODES_BODY_BYTES);
    COMMAND_CONVERGE = Route::new(Post, "/orchestrator/v1/command/converge", "command_converge",
        RUN_PUPPET, "Run Puppet on nodes until they have converged")
        .request::<ConvergeCommand>().reply::<PlanName>(202).max_body_bytes(NODES_BODY_BYTES);
    COMMAND_MULTI_PASS = Route::new(Post, "/orchestrator/v1/command/multi_pass", "command_multi_pass",
        RUN_PUPPET, "Run Puppet on nodes of applications that wait for each other, in passes")
        .request::<MultiPassCommand>().reply::<PlanName>(202).max_body_bytes(NODES_BODY_BYTES);
    COMMAND_STOP = Route::new(Post, "/orchestrator/v1/command/stop", "command_stop", VIEW,
        "Stop a job").request::<StopCommand>().reply::<StopReply>(202);
    COMMAND_PING = Route::new(Post, "/orchestrator/v1/command/ping", "command_ping", VIEW,
        "Ask agents for a sign of life").request::<PingCommand>().reply::<PingReply>(200)
        .max_body_bytes(NODES_BODY_BYTES).asks_only();
    COMMAND_RELEASE_LEASES = Route::new(Post, "/orchestrator/v1/command/release_leases",
        "command_release_leases", RUN_PUPPET, "Let nodes run Puppet by themselves again")
        .request::<ReleaseLeasesCommand>().reply::<ReleaseLeasesReply>(200)
        .max_body_bytes(NODES_BODY_BYTES);
    LEASES = Route::new(Post, "/orchestrator/v1/leases", "leases", VIEW,
        "The jobs that keep nodes from running Puppet by themselves")
        .request::<LeaseQuery>().reply::<LeaseList>(200).max_body_bytes(NODES_BODY_BYTES)
        .asks_only();
    JOBS = Route::new(Get, "/orchestrator/v1/jobs", "jobs", VIEW, "The jobs")
        .reply::<JobList>(200)
        .query(&["limit", "offset", "order_by", "order", "type", "task", "owner", "state", "node",
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
        "Whether nodes are connected").request::<InventoryQuery>().reply::<InventoryList>(200).asks_only();
    SELECTED_NODES = Route::new(Post, "/orchestrator/v1/selected_nodes", "selected_nodes",
        VIEW_NODE_DATA, "The known nodes that names, globs and regular expressions select")
        .request::<NodeSelectionQuery>().reply::<NodeSelection>(200)
        .max_body_bytes(NODES_BODY_BYTES).asks_only();
}
