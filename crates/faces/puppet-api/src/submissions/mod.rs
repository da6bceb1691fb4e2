//! Data that a node sends about itself:
//!
//! ```text
//! PUT /puppet/v3/facts/{certname}    module [facts]
//! PUT /puppet/v3/report/{certname}   module [report]
//! ```
//!
//! Invariants: a node sends data about itself only, as its certificate tells; bodies are bounded
//! one by one and together ([`SubmissionReader`]); a node is answered when its data is durable. Data of a node
//! whose catalogs a puppetserver compiles is passed to it too, and its response is the answer.

mod facts;
mod report;

use axum::Router;
use axum::routing::put;
use environments::EnvironmentName;
use inventory::RecordError;
use run_reports::{RecordRunError, RunReports};

use crate::failure::PuppetApiFailure;
use crate::front::PuppetserverFront;
use crate::peer::PuppetApiCaller;
use crate::submitted_body::SubmissionReader;

/// State of the handlers.
#[derive(Clone)]
struct SubmissionServer {
    run_reports: RunReports,
    /// The puppetserver of other nodes, if it is behind this server.
    front: Option<PuppetserverFront>,
    bodies: SubmissionReader,
}

impl SubmissionServer {
    /// The puppetserver, if it gets the data of the caller.
    async fn front_of(
        &self,
        caller: &PuppetApiCaller,
        environment: Option<&EnvironmentName>,
    ) -> Option<&PuppetserverFront> {
        let front = self.front.as_ref()?;
        let compiles = front.compiles_for(caller, environment).await;
        compiles.then_some(front)
    }

    /// The engine for data that the puppetserver gets too, or this server alone.
    fn run_reports_for(&self, front: Option<&PuppetserverFront>) -> RunReports {
        match front {
            Some(_) => self.run_reports.without_forwarding(),
            None => self.run_reports.clone(),
        }
    }
}

pub(crate) fn router(
    run_reports: RunReports,
    front: Option<PuppetserverFront>,
    bodies: SubmissionReader,
) -> Router {
    let server = SubmissionServer {
        run_reports,
        front,
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
