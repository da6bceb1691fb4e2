//! Task fallback for agents without the module that a job needs: they get the task that does the
//! same.
//!
//! Invariant: the choice is durable before the second request of a run is sent, so that its outcome
//! is read correctly after a restart, too.

use std::collections::HashSet;

use store::{EventChange, JobNumber, JobRunChange, StoreError};

use super::active_jobs::RunPhase;
use super::ledger::CommitFollowUp;
use super::outgoing::OutgoingMessage;
use super::state::JobEngine;
use crate::defaults::LIVE_EVENTS;
use crate::events;
use crate::keys::RunKey;
use crate::kind::{JobAction, RUN_WITH};
use crate::puppet;

// === impl JobEngine ===

impl JobEngine {
    /// Handles a refusal with this message. `true`: the agent has no such module, and gets the
    /// task.
    pub(super) fn fall_back(&mut self, key: RunKey, words: &str) -> bool {
        let at_ms = self.deps.clock.now_ms();
        let Some(job) = self.active_jobs.jobs.get_mut(&key.job) else {
            return false;
        };
        let action = job.dispatch.action.as_ref();
        let Some(task) = action.and_then(|action| action.task.as_deref()) else {
            return false;
        };
        let Some(run) = job.runs.get_mut(key.index) else {
            return false;
        };
        let RunPhase::Dispatched(flying) = &mut run.phase else {
            return false;
        };
        if run.as_task || flying.flight.was_accepted() || !is_unknown_module(words) {
            return false;
        }
        run.as_task = true;
        flying.handed_over = false;
        let event = events::sent_as_task(&run.certname, &task.name, words, at_ms);
        let change = EventChange {
            job: job.number,
            event,
        };
        self.active_jobs.forget_query(key);
        self.ledger
            .push(JobRunChange::Event(change), CommitFollowUp::FellBack(key));
        true
    }

    /// The task's request, once the decision to send it is durable.
    pub(super) fn build_task_request(&mut self, key: RunKey) -> Option<OutgoingMessage> {
        self.active_jobs.dispatched_mut(key)?;
        self.resend_request(key)
    }

    /// The nodes of a job that got the task before this engine's start.
    pub(super) async fn load_fallen_back(
        &self,
        job: JobNumber,
    ) -> Result<HashSet<String>, StoreError> {
        let (mut found, mut from) = (HashSet::new(), 0);
        loop {
            let page = self.deps.store.events(job, from, LIVE_EVENTS).await?;
            let is_last = page.len() < LIVE_EVENTS;
            for event in page {
                from = event.id + 1;
                if event.kind == events::NODE_AS_TASK {
                    found.extend(event.certname);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }
}

/// Explains the message of an agent that lacks an action for which there is no task: it reports
/// only that the action is unknown.
pub(super) fn explain_refusal(action: Option<&JobAction>, words: &str) -> String {
    let asked = action.map(|action| (&*action.module, &*action.action));
    if let Some((puppet::MODULE, _)) = asked
        && words.starts_with("unknown module: ")
    {
        return format!(
            "its pxp-agent has no module for Puppet runs ({words}); nothing was run. The module is in \
             the package puppet-agent, as {PUPPET_MODULE_FILE}: install or repair that package, or \
             replace pxp-agent by tutti-agent, which runs Puppet without it"
        );
    }
    let what = match asked.filter(|_| is_unknown_module(words)) {
        Some((_, RUN_WITH)) => "run anything as another user",
        Some(("file", _)) => "handle files so",
        _ => return words.to_owned(),
    };
    format!("it cannot {what}, which takes a current tutti-agent there; nothing was run ({words})")
}

/// Path at which a stock agent's package installs the module that runs Puppet.
const PUPPET_MODULE_FILE: &str = "/opt/puppetlabs/pxp-agent/modules/pxp-module-puppet";

/// True for the message of agents that do not know the requested module, in pxp-agent's wording.
fn is_unknown_module(words: &str) -> bool {
    words.starts_with("unknown module: ") || words.starts_with("unknown action '")
}
