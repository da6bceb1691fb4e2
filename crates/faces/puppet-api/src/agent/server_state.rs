//! State of the routes by which agents are configured: [`AgentServerState`].

use std::sync::Arc;

use agent_catalogs::{AgentCatalogs, AgentIdentity};
use environments::CodeReader;

use crate::failure::PuppetApiFailure;
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
pub(super) struct AgentServerState {
    pub(super) agents: AgentServer,
    pub(super) code: NodeCode,
    /// The puppetserver of other nodes, if it is behind this server.
    pub(super) front: Option<PuppetserverFront>,
    pub(super) bodies: SubmissionReader,
    /// Turns of requests for files.
    pub(super) file_turns: NodeShares,
}

/// The caller, who must have a certificate of this name.
pub(super) fn identify(
    caller: &PuppetApiCaller,
    name: &str,
) -> Result<AgentIdentity, PuppetApiFailure> {
    caller.require_own(name)?;
    let certname = name
        .parse()
        .map_err(|_| PuppetApiFailure::bad_request("the name in the path is no valid certname"))?;
    Ok(AgentIdentity::new(certname, caller.extensions()))
}
