//! Routes of environments and of usage figures.

use crate::defaults::NODES_BODY_BYTES;
use crate::environments::{
    ApplicationList, Environment, EnvironmentList, InstanceList, RunOrder, RunOrderQuery,
};
use crate::route::Method::{Get, Post};
use crate::route::{Policy, Route};
use crate::routes::permissions::VIEW;
use crate::usage::Usage;

super::group! {
    CODE_ENVIRONMENTS = Route::new(Get, "/orchestrator/v1/environments", "code_environments",
        Policy::Authenticated, "The environments that have code").reply::<EnvironmentList>(200);
    CODE_ENVIRONMENT = Route::new(Get, "/orchestrator/v1/environments/{environment}",
        "code_environment", Policy::Authenticated, "One environment").reply::<Environment>(200);
    APPLICATIONS = Route::new(Get, "/orchestrator/v1/environments/{environment}/applications",
        "applications", VIEW, "The applications of an environment")
        .reply::<ApplicationList>(200);
    INSTANCES = Route::new(Get, "/orchestrator/v1/environments/{environment}/instances",
        "instances", VIEW, "The instances of applications in an environment")
        .reply::<InstanceList>(200);
    RUN_ORDER = Route::new(Post, "/orchestrator/v1/environments/{environment}/run_order",
        "run_order", VIEW, "The order in which nodes would run Puppet")
        .request::<RunOrderQuery>().reply::<RunOrder>(200)
        .max_body_bytes(NODES_BODY_BYTES).asks_only();
    USAGE = Route::new(Get, "/orchestrator/v1/usage", "usage", VIEW,
        "How many nodes ran something, by day").reply::<Usage>(200)
        .query(&["start_date", "end_date", "events"]);
}
