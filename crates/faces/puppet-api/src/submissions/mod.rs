//! Data that a node sends about itself:
//!
//! ```text
//! PUT /puppet/v3/facts/{certname}    module [facts]
//! PUT /puppet/v3/report/{certname}   module [report]
//! ```
//!
//! Invariants: a node sends data about itself only, as its certificate tells; bodies are bounded
//! one by one and together ([`SubmissionReader`]); a node is answered when its data is durable.

mod body;
mod facts;
mod failure;
mod report;

use axum::Router;
use axum::routing::put;
use run_reports::RunReports;

use body::SubmissionReader;

/// State of the handlers.
#[derive(Clone)]
struct SubmissionServer {
    run_reports: RunReports,
    bodies: SubmissionReader,
}

pub(crate) fn router(run_reports: RunReports) -> Router {
    let server = SubmissionServer {
        run_reports,
        bodies: SubmissionReader::new(),
    };
    Router::new()
        .route("/puppet/v3/facts/{certname}", put(facts::put))
        .route("/puppet/v3/report/{certname}", put(report::put))
        .with_state(server)
}
