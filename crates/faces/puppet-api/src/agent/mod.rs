//! Routes by which agents are configured:
//!
//! ```text
//! GET, POST /puppet/v3/catalog/{certname}   module [catalog]
//! GET       /puppet/v3/node/{certname}      module [node]
//! GET       /puppet/v3/static_file_content  module [static_content]
//! POST      /puppet/v4/catalog              module [service_catalog]
//! POST      /puppet/v3/compile              module [block_catalog]
//! POST      /tutti/v1/catalogs/{certname}/check   module [catalog_check]
//! ```
//!
//! Invariant: a node gets only its own catalog and its own data, whatever the request says. Only a rule of an
//! `auth.conf` lets a service request those of nodes.

mod block_catalog;
mod catalog;
mod catalog_check;
mod catalog_form;
mod node;
mod service_answer;
mod service_catalog;
mod static_content;

use std::sync::Arc;

use agent_catalogs::{AgentCatalogs, AgentIdentity};
use axum::Router;
use axum::routing::{get, post};
use environments::CodeReader;

use crate::failure::{PuppetApiFailure, closed_route};
use crate::front::PuppetserverFront;
use crate::node_code::NodeCode;
use crate::node_shares::NodeShares;
use crate::peer::PuppetApiCaller;
use crate::submitted_body::SubmissionReader;

/// The server as agents see it.
#[derive(Debug, Clone)]
pub struct AgentServer {
    pub catalogs: AgentCatalogs,
    pub code: Arc<dyn CodeReader>,
    /// Name of this server, which agents log as that of the compiler.
    pub name: String,
}

/// State of the handlers.
#[derive(Debug, Clone)]
struct AgentServerState {
    agents: AgentServer,
    code: NodeCode,
    /// The puppetserver of other nodes, if it is behind this server.
    front: Option<PuppetserverFront>,
    bodies: SubmissionReader,
    /// Turns of requests for files.
    file_turns: NodeShares,
}

pub(crate) fn router(
    agents: AgentServer,
    code: NodeCode,
    front: Option<PuppetserverFront>,
    (bodies, file_turns): (SubmissionReader, NodeShares),
    has_rules: bool,
) -> Router {
    let of_services = match has_rules {
        true => Router::new()
            .route("/puppet/v4/catalog", post(service_catalog::post))
            .route("/puppet/v3/compile", post(block_catalog::post)),
        false => Router::new()
            .route("/puppet/v4/catalog", post(closed_route))
            .route("/puppet/v3/compile", post(closed_route)),
    };
    Router::new()
        .merge(of_services)
        .route(
            "/puppet/v3/catalog/{certname}",
            get(catalog::get).post(catalog::post),
        )
        .route("/puppet/v3/node/{certname}", get(node::get))
        .route(
            "/puppet/v3/static_file_content/{*path}",
            get(static_content::get),
        )
        .route(
            "/tutti/v1/catalogs/{certname}/check",
            post(catalog_check::post),
        )
        .with_state(AgentServerState {
            agents,
            code,
            front,
            bodies,
            file_turns,
        })
}

/// The caller, who must have a certificate of this name.
fn identify(caller: &PuppetApiCaller, name: &str) -> Result<AgentIdentity, PuppetApiFailure> {
    caller.require_own(name)?;
    let certname = name
        .parse()
        .map_err(|_| PuppetApiFailure::bad_request("the name in the path is no valid certname"))?;
    Ok(AgentIdentity::new(certname, caller.extensions()?))
}
