//! How nodes are reached: by their agents, or over SSH.
//!
//! The rule: a job's own word comes first, then the agent, then what is stored; and once a run is
//! marked, its way stays, since nobody else can know how it went.

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
    /// The way to a node whose run is to start. Puppet runs need an agent.
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

    /// Why there is no [`way`](Self::way) to a node.
    pub(super) fn no_way(&self, certname: &Certname, kind: Kind) -> Verdict {
        match kind {
            Kind::Puppet if self.parts.fabric.stands_in_for(certname) => Verdict::NeedsAgent,
            _ => Verdict::NotConnected,
        }
    }

    /// Who answers for a run, if he is there.
    pub(super) fn presence_of(&self, run: &Run) -> Option<Presence> {
        match run.via {
            Via::Agent => self.parts.fabric.presence(&run.certname),
            Via::Ssh => self.parts.fabric.stand_in(),
        }
    }

    /// A message about a run, to whoever answers for it.
    pub(super) fn message_about(&self, run: &Run, body: Body) -> Message {
        let agent = || PcpUri::agent(&run.certname);
        let target = match run.via {
            Via::Agent => agent(),
            Via::Ssh => ssh_address(&run.certname).unwrap_or_else(|_| agent()),
        };
        body.into_message(target, self.parts.fabric.address().clone())
    }
}
