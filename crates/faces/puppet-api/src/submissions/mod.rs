//! Data that a node sends about itself:
//!
//! ```text
//! PUT /puppet/v3/facts/{certname}    module [facts]
//! PUT /puppet/v3/report/{certname}   module [report]
//! ```
//!
//! Invariants: a node sends data about itself only, as its certificate tells; bodies are bounded
//! one by one and together ([`SubmissionReader`]); a node is answered when its data is durable.

mod facts;
mod report;

use axum::Router;
use axum::routing::put;
use inventory::RecordError;
use run_reports::{RecordRunError, RunReports};

use crate::failure::PuppetApiFailure;
use crate::submitted_body::SubmissionReader;

/// State of the handlers.
#[derive(Clone)]
struct SubmissionServer {
    run_reports: RunReports,
    bodies: SubmissionReader,
}

pub(crate) fn router(run_reports: RunReports, bodies: SubmissionReader) -> Router {
    let server = SubmissionServer {
        run_reports,
        bodies,
    };
    Router::new()
        .route("/puppet/v3/facts/{certname}", put(facts::put))
        .route("/puppet/v3/report/{certname}", put(report::put))
        .with_state(server)
}

impl From<RecordRunError> for PuppetApiFailure {
    fn from(error: RecordRunError) -> Self {
        let cause = error_causes::chain(&error).to_string();
        tracing::error!(error = cause, "data of a node cannot be recorded");
        match error {
            RecordRunError::Store(_) | RecordRunError::ShuttingDown => {
                Self::busy("the data cannot be written now; see the server's log")
            }
            RecordRunError::Inventory(RecordError::TooLarge { .. })
            | RecordRunError::TooLarge { .. } => Self::payload_too_large(cause),
            RecordRunError::Inventory(_) => {
                Self::server_error(format!("the data cannot be recorded: {cause}"))
            }
            RecordRunError::Compress(_) => Self::server_error("see the server's log"),
        }
    }
}
