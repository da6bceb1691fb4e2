//! Times of requests by kind, and the releases of their answers. Main type: [`TrafficReport`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

/// The longest wait for a deployment that is not counted.
pub const LONG_WAIT: Duration = Duration::from_millis(10);

/// The kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// A catalog.
    Catalog,
    /// Metadata of a file or of a tree.
    Metadata,
    /// A file by its name.
    Content,
    /// A content that a catalog names by its hash.
    ContentByHash,
}

/// Times and releases of answers, all of which were right.
#[derive(Clone, Debug, Default)]
pub struct TrafficReport {
    /// Microseconds of each request.
    times: BTreeMap<RequestKind, Vec<u32>>,
    releases: BTreeMap<RequestKind, BTreeSet<u32>>,
}

// === impl TrafficReport ===

impl TrafficReport {
    /// Number of requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.times.values().map(Vec::len).sum()
    }

    /// The releases of answers of a kind.
    #[must_use]
    pub fn releases(&self, kind: RequestKind) -> BTreeSet<u32> {
        self.releases.get(&kind).cloned().unwrap_or_default()
    }

    /// The times by kind: percentiles in milliseconds, and the number of those over [`LONG_WAIT`].
    pub fn figures(self) -> Result<Value> {
        let mut figures = json!({});
        for (kind, mut times) in self.times {
            times.sort_unstable();
            let at = |thousandths: usize| {
                let index = (times.len() - 1) * thousandths / 1000;
                f64::from(times[index]) / 1e3
            };
            let limit = u32::try_from(LONG_WAIT.as_micros())?;
            let long = times.len() - times.partition_point(|time| *time <= limit);
            figures[format!("{kind:?}")] = json!({
                "requests": times.len(), "p50_ms": at(500), "p99_ms": at(990), "p999_ms": at(999),
                "max_ms": at(1000), "over_10_ms": long,
            });
        }
        Ok(figures)
    }

    pub(super) fn add_time(&mut self, kind: RequestKind, time: Duration) {
        let microseconds = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.times.entry(kind).or_default().push(microseconds);
    }

    pub(super) fn add_release(&mut self, kind: RequestKind, release: u32) {
        self.releases.entry(kind).or_default().insert(release);
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (kind, releases) in other.releases {
            self.releases.entry(kind).or_default().extend(releases);
        }
    }
}
