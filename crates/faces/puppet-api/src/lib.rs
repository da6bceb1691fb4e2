//! The part of puppetserver's HTTP API (port 8140) that agents need: catalogs, files of tasks and
//! modules, the certificate authority, and the simple status.
//!
//! ```text
//! POST /puppet/v3/catalog/{certname}                 module [agent]
//! GET  /puppet/v3/node/{certname}                    module [agent]
//! POST /puppet/v4/catalog                            module [agent]
//! GET  /puppet/v3/static_file_content/{*path}        module [agent]
//! GET  /puppet/v3/file_content/{mount}/{*path}       module [files]
//! GET  /puppet/v3/file_metadata(s)/{mount}/{*path}   module [file_metadata]
//! …    /puppet/v3/file_bucket_file/{*key}            module [bucket]
//! GET  /puppet/v3/environments, …/tasks, …           module [environment_listing]
//! …    /puppet-ca/v1/…                               module [ca]
//! PUT  /puppet/v3/facts/{certname}                   module [submissions]
//! PUT  /puppet/v3/report/{certname}                  module [submissions]
//! GET  /status/v1/simple                             module [status]
//! ```
//!
//! If a puppetserver is behind this server, module [front] passes requests of its nodes to it.
//!
//! Module [authorization] has the rules of an `auth.conf`.
//!
//! Invariants:
//! - The caller is identified only by the verified client certificate of the connection
//!   ([`https::PeerCertificate`]), never by the content of a request.
//! - Names in a request are parsed into a closed type before they reach the CA or the code; a
//!   `String` is never a path.
//! - Bodies are bounded by [`defaults::MAX_BODY_BYTES`]; those in which nodes send data about themselves have
//!   limits of their own, and share a bounded memory.

mod agent;
mod authorization;
mod bounded_body;
mod bucket;
pub mod ca;
pub mod defaults;
mod environment_listing;
mod facts_document;
mod failure;
mod file_metadata;
mod file_mounts;
mod files;
mod front;
mod node_code;
mod node_shares;
mod peer;
mod query;
mod requested_file;
mod status;
mod submissions;
mod submitted_body;
mod version_header;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use catalogs::Catalogs;
use partial_debug::partial_debug;

use defaults::{FILE_READS_AT_ONCE, FILE_READS_OF_NODE};
use front::FrontRoutes;
use node_code::NodeCode;
use node_shares::NodeShares;
use submitted_body::SubmissionReader;

pub use agent::AgentServer;
pub use authorization::{AuthorizationRules, AuthorizationRulesError};
pub use ca::{AutosignError, AutosignPolicy, CaService, CaWorkError, certificate_status};
pub use file_mounts::{FileMounts, FileMountsError};
pub use front::{PuppetserverFront, PuppetserverFrontError};

/// State shared by the handlers.
#[derive(Clone)]
pub struct PuppetApiState {
    /// Modules and tasks of the environments.
    pub code: Arc<dyn environments::CodeReader>,
    /// The directory that contains the environments and the global modules.
    pub codedir: std::path::PathBuf,
    /// The engine that compiles catalogs.
    pub catalogs: Catalogs,
    /// Runs in flight whose jobs decide on their catalogs.
    pub job_catalogs: environments::JobCatalogs,
    /// Directories of a `fileserver.conf`.
    pub mounts: FileMounts,
    /// Files of tasks in the state in which a job was created.
    pub blobs: environments::BlobStore,
    /// The certificate authority; `None` if this server is not one.
    pub ca: Option<CaService>,
    /// Reports of runs, and the forwarding of data to PuppetDB.
    pub run_reports: run_reports::RunReports,
    /// The server of agents; `None` if another server compiles their catalogs.
    pub agents: Option<AgentServer>,
    /// Rules of an `auth.conf`; `None` for Puppet's default rules.
    pub rules: Option<AuthorizationRules>,
    /// Copies of files that agents replace.
    pub bucket: file_bucket::FileBucket,
    /// The puppetserver of other nodes, if it is behind this server.
    pub front: Option<PuppetserverFront>,
}

partial_debug!(PuppetApiState { ca });

/// The routes; serve them with [`https::serve`] and optional client
/// certificates, since a new node has none yet.
pub fn router(state: PuppetApiState) -> Router {
    let ca = state.ca.clone().map(ca::router).unwrap_or_default();
    let bodies = SubmissionReader::new();
    let has_rules = state.rules.is_some();
    let listing = environment_listing::router(
        Arc::clone(&state.code),
        state.codedir,
        state.catalogs,
        has_rules,
    );
    let code = NodeCode::new(state.code, state.job_catalogs);
    let front = state.front;
    let file_turns = NodeShares::new(FILE_READS_OF_NODE).with_total(FILE_READS_AT_ONCE);
    let agents = state.agents.map(|agents| {
        let shared = (bodies.clone(), file_turns.clone());
        agent::router(agents, code.clone(), front.clone(), shared, has_rules)
    });
    let passes_ca = state.ca.is_none();
    let routes = Router::new()
        .merge(agents.unwrap_or_default())
        .merge(file_metadata::router(
            code.clone(),
            state.mounts.clone(),
            file_turns.clone(),
        ))
        .merge(files::router(code, state.blobs, state.mounts, file_turns))
        .merge(bucket::router(state.bucket))
        .merge(listing)
        .merge(ca)
        .merge(submissions::router(
            state.run_reports,
            front.clone(),
            bodies,
        ))
        .merge(status::router())
        .fallback(failure::not_found);
    let routes = match front {
        Some(front) => {
            let passing = FrontRoutes { front, passes_ca };
            routes.layer(axum::middleware::from_fn_with_state(passing, front::pass))
        }
        None => routes,
    };
    let routes = match state.rules {
        Some(rules) => routes.layer(axum::middleware::from_fn_with_state(
            rules,
            authorization::authorize,
        )),
        None => routes,
    };
    routes
        .layer(DefaultBodyLimit::max(defaults::MAX_BODY_BYTES))
        .layer(axum::middleware::map_response(
            version_header::add_puppet_version,
        ))
}
