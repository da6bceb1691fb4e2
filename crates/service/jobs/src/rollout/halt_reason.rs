//! Reason that a rollout was halted, as text: [`HaltReason`].

use std::fmt;

use api_types::rollout::Portion;
use pcp::Certname;
use serde_json::{Value, json};

use super::RolloutHalt;
use crate::defaults::FAILED_NAMED;

/// The failures that ended a rollout, and the option whose limit they exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HaltReason {
    pub(crate) halt: RolloutHalt,
    /// The option `max_failures` as given.
    pub(crate) max_failures: Option<Portion>,
    /// Number of nodes of the job.
    pub(crate) nodes: usize,
    /// The first nodes that failed, as far as they are known.
    pub(crate) failed: Vec<Certname>,
}

// === impl HaltReason ===

impl HaltReason {
    /// Details of the event, for programs.
    pub(crate) fn details(&self) -> Value {
        json!({
            "failures": self.halt.failures,
            "max_failures": self.max_failures,
            "batch": self.halt.batch,
        })
    }

    fn list_failed_nodes(&self) -> String {
        let named: Vec<&str> = self.failed.iter().map(Certname::as_str).collect();
        let more = if self.halt.failures > named.len() {
            ", …"
        } else {
            ""
        };
        match named.len() {
            0 => String::new(),
            _ => format!(" ({}{more})", named.join(", ")),
        }
    }
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (
            RolloutHalt {
                failures, batch, ..
            },
            named,
        ) = (self.halt, self.list_failed_nodes());
        let nodes = if failures == 1 { "node" } else { "nodes" };
        match (self.max_failures, self.halt.allowed) {
            (Some(portion @ Portion::Percent(_)), Some(allowed)) => write!(
                f,
                "{failures} {nodes} of the job failed{named}, and max_failures is {portion} ({allowed} \
                 of {} nodes)",
                self.nodes
            ),
            (Some(portion), _) => write!(
                f,
                "{failures} {nodes} of the job failed{named}, and max_failures is {portion}"
            ),
            (None, _) => write!(
                f,
                "every node of batch {batch} failed or was skipped{named}, and no max_failures allows that"
            ),
        }
    }
}

/// Adds a node that failed to the list, up to [`FAILED_NAMED`].
pub(crate) fn add_failed_node(failed: &mut Vec<Certname>, certname: &Certname) {
    if failed.len() < FAILED_NAMED && !failed.contains(certname) {
        failed.push(certname.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_and_the_failures_are_named() {
        let reason = |max_failures, allowed, failures, named: &[&str]| {
            let halt = RolloutHalt {
                failures,
                allowed,
                batch: 2,
            };
            let failed = named.iter().map(|name| name.parse().unwrap()).collect();
            let nodes = 20;
            HaltReason {
                halt,
                max_failures,
                nodes,
                failed,
            }
            .to_string()
        };
        assert_eq!(
            reason(Some(Portion::Nodes(0)), Some(0), 1, &["web1"]),
            "1 node of the job failed (web1), and max_failures is 0"
        );
        assert_eq!(
            reason(Some(Portion::Percent(10)), Some(2), 3, &["a", "b"]),
            "3 nodes of the job failed (a, b, …), and max_failures is 10% (2 of 20 nodes)"
        );
        assert_eq!(
            reason(None, None, 4, &[]),
            "every node of batch 2 failed or was skipped, and no max_failures allows that"
        );
    }
}
