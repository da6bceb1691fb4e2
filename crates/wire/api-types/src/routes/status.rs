//! Service status: `/status/v1`, `/metrics` and the server's part of `tutti doctor`.

use crate::route::Method::Get;
use crate::route::{Policy, Route};
use crate::routes::permissions::VIEW;
use crate::{ServerDiagnosis, ServiceStatus};

super::group! {
    SERVICES = Route::new(Get, "/status/v1/services", "services", Policy::Public,
        "How the services are").text(200, "application/json").query(&["level", "timeout"]);
    SERVICE = Route::new(Get, "/status/v1/services/{service}", "service", Policy::Public,
        "How a service is").reply::<ServiceStatus>(200).query(&["level", "timeout"]);
    SIMPLE = Route::new(Get, "/status/v1/simple", "simple", Policy::Public,
        "Whether all is well, in one word").text(200, "text/plain");
    SIMPLE_SERVICE = Route::new(Get, "/status/v1/simple/{service}", "simple_service",
        Policy::Public, "Whether a service is well, in one word").text(200, "text/plain");
    METRICS = Route::new(Get, "/metrics", "metrics", Policy::Authenticated,
        "Figures for Prometheus").text(200, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    DOCTOR = Route::new(Get, "/tutti/v1/doctor", "doctor", VIEW,
        "Agents, brokers and parts of this server that have not started").reply::<ServerDiagnosis>(200);
}
