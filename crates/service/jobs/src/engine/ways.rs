//! Connections to nodes: through their agents, or over SSH.
//!
//! Invariant: the job's own choice comes first, then the agent, then the stored connection; and
//! once a run is marked, its connection stays, since only that one can report how the run ended.

use fabric::{Presence, ssh_address};
use pcp::{Certname, Message, PcpUri};
use pxp::Body;

use super::book::Run;
use super::state::Engine;
use crate::kind::Kind;
use crate::over_ssh::{OverSsh, Via};
use crate::verdict::Verdict;

// === impl Engine ===

impl Engine {
    /// The connection to a node whose run is about to start. Puppet runs need an agent.
    pub(super) fn way(
        &self,
        certname: &Certname,
        kind: Kind,
        over_ssh: &OverSsh,
    ) -> Option<(Via, Presence)> {
        let fabric = &self.parts.fabric;
        let stand_in = || fabric.stand_in().map(|presence| (Via::Ssh, presence));
        if kind != Kind::Puppet && over_ssh.has(certname) {
            return stand_in();
        }
        match fabric.presence(certname) {
            Some(presence) => Some((Via::Agent, presence)),
            None if kind != Kind::Puppet && fabric.stands_in_for(certname) => stand_in(),
            None => None,
        }
    }

    /// The reason that there is no [`way`](Self::way) to a node.
    pub(super) fn no_way(&self, certname: &Certname, kind: Kind) -> Verdict {
        match kind {
            Kind::Puppet if self.parts.fabric.stands_in_for(certname) => Verdict::NeedsAgent,
            _ => Verdict::NotConnected,
        }
    }

    /// Presence of the agent or SSH runner that is responsible for a run, if it is connected.
    pub(super) fn presence_of(&self, run: &Run) -> Option<Presence> {
        match run.via {
            Via::Agent => self.parts.fabric.presence(&run.certname),
            Via::Ssh => self.parts.fabric.stand_in(),
        }
    }

    /// A message about a run, addressed to the agent or SSH runner that is responsible for it.
    pub(super) fn message_about(&self, run: &Run, body: Body) -> Message {
        let agent = || PcpUri::agent(&run.certname);
        let target = match run.via {
            Via::Agent => agent(),
            Via::Ssh => ssh_address(&run.certname).unwrap_or_else(|_| agent()),
        };
        body.into_message(target, self.parts.fabric.address().clone())
    }
}
