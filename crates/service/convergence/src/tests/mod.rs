//! Tests of the decisions between waves, with simulated nodes.

mod examples;
mod fleet;
mod reruns;
mod results;

use std::time::Duration;

use crate::node_run::{ChangedResources, NodeRun, RequestedRerun, RunEnd};

/// A run that changed these resources, and requests another run if `delta` is given.
pub(crate) fn changed(certname: &str, resources: &[&str], delta: Option<u64>) -> NodeRun {
    let fingerprint = sha(&resources.join("\n"));
    NodeRun {
        certname: certname.to_owned(),
        end: RunEnd::Succeeded {
            is_changed: !resources.is_empty(),
        },
        reruns: delta
            .map(|seconds| RequestedRerun {
                key: "again".to_owned(),
                delta: Duration::from_secs(seconds),
            })
            .into_iter()
            .collect(),
        changes: ChangedResources {
            fingerprint,
            names: resources.iter().map(|&name| name.to_owned()).collect(),
            is_complete: true,
        },
    }
}

/// A run without changes and requests.
pub(crate) fn unchanged(certname: &str) -> NodeRun {
    changed(certname, &[], None)
}

/// The same run with another end.
pub(crate) fn ending(run: NodeRun, end: RunEnd) -> NodeRun {
    NodeRun { end, ..run }
}

fn sha(text: &str) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text.as_bytes()).into()
}
