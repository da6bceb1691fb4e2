//! Connections to nodes: through their agents, or over SSH.
//!
//! Invariant: the job's own choice comes first, then the agent, then the stored connection; and
//! once a run is marked, its connection stays, since only that one can report how the run ended.

use fabric::{NodePresence, ssh_address};
use pcp::{Certname, PcpMessage, PcpUri};
use pxp::PxpMessageBody;

use super::active_jobs::ActiveRun;
use super::state::JobEngine;
use crate::kind::JobKind;
use crate::over_ssh::{NodeTransport, OverSsh};
use crate::verdict::RunVerdict;

// === impl JobEngine ===

impl JobEngine {
    /// The connection to a node whose run is about to start. Puppet runs need an agent.
    pub(super) fn choose_transport(
        &self,
        certname: &Certname,
        kind: JobKind,
        over_ssh: &OverSsh,
    ) -> Option<(NodeTransport, NodePresence)> {
        let fabric = &self.deps.fabric;
        let stand_in = || {
            fabric
                .agentless_presence()
                .map(|presence| (NodeTransport::Ssh, presence))
        };
        if kind != JobKind::Puppet && over_ssh.contains_node(certname) {
            return stand_in();
        }
        match fabric.presence(certname) {
            Some(presence) => Some((NodeTransport::Agent, presence)),
            None if kind != JobKind::Puppet && fabric.is_agentless_node(certname) => stand_in(),
            None => None,
        }
    }

    /// The reason that there is no [`way`](Self::way) to a node.
    pub(super) fn no_transport_verdict(&self, certname: &Certname, kind: JobKind) -> RunVerdict {
        match kind {
            JobKind::Puppet if self.deps.fabric.is_agentless_node(certname) => {
                RunVerdict::NeedsAgent
            }
            _ => RunVerdict::NotConnected,
        }
    }

    /// Presence of the agent or SSH runner that is responsible for a run, if it is connected.
    pub(super) fn presence_of(&self, run: &ActiveRun) -> Option<NodePresence> {
        match run.via {
            NodeTransport::Agent => self.deps.fabric.presence(&run.certname),
            NodeTransport::Ssh => self.deps.fabric.agentless_presence(),
        }
    }

    /// A message about a run, addressed to the agent or SSH runner that is responsible for it.
    pub(super) fn message_about(&self, run: &ActiveRun, body: PxpMessageBody) -> PcpMessage {
        let agent = || PcpUri::agent(&run.certname);
        let target = match run.via {
            NodeTransport::Agent => agent(),
            NodeTransport::Ssh => ssh_address(&run.certname).unwrap_or_else(|_| agent()),
        };
        body.into_message(target, self.deps.fabric.address().clone())
    }
}
