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
mod server_state;
mod service_answer;
mod service_catalog;
mod static_content;

use axum::Router;
use axum::routing::{get, post};

use self::server_state::AgentServerState;
use crate::failure::closed_route;
use crate::front::PuppetserverFront;
use crate::node_code::NodeCode;
use crate::node_shares::NodeShares;
use crate::submitted_body::SubmissionReader;

pub use self::server_state::AgentServer;

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
